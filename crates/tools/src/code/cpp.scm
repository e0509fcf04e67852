(function_definition declarator: (reference_declarator (function_declarator declarator: (_) @name))) @definition
[
  (class_specifier name: (_) @name body: (_))
  (namespace_definition name: (_) @name)
  (alias_declaration name: (_) @name)
  (concept_definition name: (_) @name)
] @definition
(field_declaration declarator: [
  (function_declarator declarator: (_) @name)
  (pointer_declarator declarator: (function_declarator declarator: (_) @name))
  (reference_declarator (function_declarator declarator: (_) @name))
]) @part

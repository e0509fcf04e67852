(function_definition declarator: [
  (function_declarator declarator: (_) @name)
  (pointer_declarator declarator: (function_declarator declarator: (_) @name))
  (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (_) @name)))
]) @definition
[
  (struct_specifier name: (_) @name body: (_))
  (union_specifier name: (_) @name body: (_))
  (enum_specifier name: (_) @name body: (_))
  (type_definition declarator: (type_identifier) @name)
  (preproc_function_def name: (_) @name)
] @definition
(declaration declarator: [
  (function_declarator declarator: (identifier) @name)
  (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))
]) @part
(preproc_include) @import

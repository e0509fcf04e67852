[
  (function_declaration name: (_) @name)
  (method_declaration name: (_) @name)
  (type_spec name: (_) @name)
  (type_alias name: (_) @name)
] @definition
(source_file (const_declaration (const_spec name: (_) @name) @definition))
(source_file (var_declaration (var_spec name: (_) @name) @definition))
(method_elem name: (_) @name) @part
(import_spec) @import

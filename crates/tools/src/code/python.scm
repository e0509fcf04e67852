[
  (class_definition name: (_) @name)
  (function_definition name: (_) @name)
] @definition
[(import_statement) (import_from_statement) (future_import_statement)] @import

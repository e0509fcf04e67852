[
  (class_declaration name: (_) @name)
  (function_declaration name: (_) @name)
  (generator_function_declaration name: (_) @name)
  (method_definition name: (_) @name)
  (variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression) (class)])
  (assignment_expression
    left: (member_expression property: (_) @name)
    right: [(arrow_function) (function_expression) (class)])
] @definition
(import_statement) @import
(export_statement source: (_)) @import
((variable_declarator value: (call_expression function: (identifier) @called)) @import
  (#eq? @called "require"))

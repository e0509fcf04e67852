[
  (interface_declaration name: (_) @name)
  (type_alias_declaration name: (_) @name)
  (enum_declaration name: (_) @name)
  (abstract_class_declaration name: (_) @name)
  (function_signature name: (_) @name)
  (abstract_method_signature name: (_) @name)
  (internal_module name: (_) @name)
  (module name: (_) @name)
  (public_field_definition name: (_) @name value: [(arrow_function) (function_expression)])
] @definition
(method_signature name: (_) @name) @part

[
  (struct_item name: (_) @name)
  (enum_item name: (_) @name)
  (union_item name: (_) @name)
  (trait_item name: (_) @name)
  (type_item name: (_) @name)
  (associated_type name: (_) @name)
  (const_item name: (_) @name)
  (static_item name: (_) @name)
  (function_item name: (_) @name)
  (function_signature_item name: (_) @name)
  (macro_definition name: (_) @name)
  (mod_item name: (_) @name body: (_))
] @definition
(impl_item type: (_) @name) @part
[(use_declaration) (extern_crate_declaration) (mod_item !body)] @import

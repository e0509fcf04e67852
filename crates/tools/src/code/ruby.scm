[
  (method name: (_) @name)
  (singleton_method name: (_) @name)
  (class name: (_) @name)
  (module name: (_) @name)
] @definition
((call !receiver method: (identifier) @called) @import
  (#match? @called "^(require|require_relative|load|autoload)$"))

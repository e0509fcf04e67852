// Puts the binary of this system in the place of `bin/haft`, the script that starts it: then no second process stands between
// a shell and Haft, which a `kill -9` would end in its place. Where npm runs no scripts, `bin/haft` stays. Node 12 and newer.
const fs = require('fs')
const path = require('path')

const own = path.join(__dirname, 'bin', 'haft')
const made = `${own}.${process.pid}`
try {
  const binary = require.resolve(`haft-${process.platform}-${process.arch}/bin/haft`)
  fs.linkSync(binary, made)
  fs.renameSync(made, own)
} catch {
  // The script does, too.
}

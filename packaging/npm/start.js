#!/usr/bin/env node
// Starts the binary of this system, which npm installed as an optional dependency.
const { spawn } = require('child_process')

const name = `haft-${process.platform}-${process.arch}`
let binary
try {
  binary = require.resolve(`${name}/bin/haft`)
} catch {
  console.error(`error: there is no package \`${name}\` for this system`)
  console.error('hint: if npm was told to leave out optional dependencies, install again without --omit=optional')
  process.exit(1)
}
const child = spawn(binary, process.argv.slice(2), { stdio: 'inherit' })
child.on('error', error => {
  console.error(`error: cannot start ${binary}: ${error.message}`)
  process.exit(1)
})
// A terminal sends Ctrl+C to the binary itself; what is sent to this process alone is passed on.
process.on('SIGINT', () => {})
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('exit', (status, signal) => {
  if (signal) {
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  }
  process.exitCode = status === null ? 1 : status
})

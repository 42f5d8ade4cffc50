/** Environment → settings → platform → listen → drain. The only reader of `process.env`. */
import { lstatSync, mkdirSync } from "node:fs"
import { enableCompileCache } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** Parsing a thousand modules and stripping their types is most of a start; Node keeps the result between starts. */
const keepCompiledCode = () => {
  const self = process.getuid?.()
  const folder = join(tmpdir(), `svc-compiled-${self ?? "own"}`)
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const { uid, mode } = lstatSync(folder)
    // Whoever could write there could have us run their code.
    if (self === undefined || (uid === self && (mode & 0o077) === 0)) enableCompileCache(folder)
  } catch {
    // Without a cache a start only takes longer.
  }
}

keepCompiledCode()
const { run } = await import("./run.ts")
await run(process.env)

/** Environment → settings → platform → listen → drain. The only reader of `process.env`. */
import { enableCompileCache } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"

// Parsing and type-stripping some hundred modules is most of a warm start; Node keeps the result between starts.
enableCompileCache(join(tmpdir(), `svc-compile-cache-${process.getuid?.() ?? 0}`))

const { run } = await import("./run.ts")
await run(process.env)

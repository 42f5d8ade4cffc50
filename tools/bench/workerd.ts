/** Cloudflare's own server of functions, where the machine has it; nothing of the project needs it. */
import { spawn } from "node:child_process"
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, join, resolve } from "node:path"
import { performance } from "node:perf_hooks"
import { setTimeout as delay } from "node:timers/promises"

const STARTED_MS_MAX = 10_000

/** On PATH, or installed beside the project; undefined when there is none. */
export const findWorkerd = (): string | undefined =>
  [...(process.env.PATH ?? "").split(delimiter), resolve("node_modules/.bin")]
    .map(folder => join(folder, "workerd"))
    .find(existsSync)

const configOf = (code: string, port: number): string => `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(
    name = "main",
    worker = (modules = [(name = "main", esModule = ${JSON.stringify(code)})], compatibilityDate = "2026-01-01"),
  )],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
`

/** Serves one module with `fetch`; tells how long it took to the first reply. */
export const startWorkerd = async (
  program: string,
  { code, port, body }: { readonly code: string; readonly port: number; readonly body: object },
): Promise<{ readonly ms: number; readonly stop: () => void }> => {
  const folder = mkdtempSync(join(tmpdir(), "svc-workerd-"))
  const file = join(folder, "config.capnp")
  writeFileSync(file, configOf(code, port))
  const from = performance.now()
  const child = spawn(program, ["serve", file], { stdio: ["ignore", "ignore", "inherit"] })
  const stop = () => {
    child.kill()
    rmSync(folder, { recursive: true, force: true })
  }
  while (performance.now() - from < STARTED_MS_MAX) {
    const sent = { method: "POST", body: JSON.stringify(body) }
    const reply = await fetch(`http://127.0.0.1:${port}/`, sent).catch(() => undefined)
    if (reply?.ok) return { ms: performance.now() - from, stop }
    await delay(1)
  }
  stop()
  throw new Error("workerd does not serve")
}

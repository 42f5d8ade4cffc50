/** A real nats-server with JetStream, in a folder and on a port of its own. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { freePort } from "../../../../../testing/ports.ts"

/** Undefined when there is one; else why the tests that need it are left out. */
export const natsIsMissing = (): string | undefined => {
  try {
    execFileSync("nats-server", ["--version"], { stdio: "ignore" })
    return undefined
  } catch {
    return "nats-server is not installed"
  }
}

export interface NatsServer extends AsyncDisposable {
  readonly url: string
  kill(): Promise<void>
  start(): Promise<void>
}

export const startNats = async (args: readonly string[] = []): Promise<NatsServer> => {
  const folder = mkdtempSync(join(tmpdir(), "svc-nats-"))
  const port = await freePort()
  let child: ChildProcess | undefined

  const start = async () => {
    const words = ["-js", "-sd", folder, "-a", "127.0.0.1", "-p", String(port), ...args]
    const started = spawn("nats-server", words, { stdio: ["ignore", "ignore", "pipe"] })
    child = started
    let said = ""
    for await (const text of started.stderr) {
      said += text
      if (said.includes("Server is ready")) break
    }
    if (!said.includes("Server is ready")) throw new Error(`nats-server did not start: ${said}`)
  }
  const kill = async () => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, "exit")
    child.kill("SIGKILL")
    await exited
  }
  await start()
  return {
    url: `nats://127.0.0.1:${port}`,
    kill,
    start,
    async [Symbol.asyncDispose]() {
      await kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Loop devices, for a daemon that mounts disks which are files. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { PortError } from "../../../port-error.ts"

const program = fileURLToPath(new URL("loop.pl", import.meta.url))

/** Once it is disposed of, the device goes as soon as nothing is mounted from it any more. */
export interface Loop extends AsyncDisposable {
  readonly device: string
}

export const attachLoop = async (perl: string, path: string): Promise<Loop> => {
  const child = spawn(perl, [program, path], { env: {}, stdio: ["pipe", "pipe", "pipe"] })
  const closed = once(child, "close")
  const told = text(child.stderr)
  const lines = createInterface({ input: child.stdout })
  const device = await Promise.race([
    once(lines, "line").then(([line]) => String(line)),
    closed.then(() => ""),
  ])
  if (device === "") throw new PortError("unavailable", `a disk has no loop device: ${(await told).trim()}`)
  return {
    device,
    async [Symbol.asyncDispose]() {
      child.stdin.end()
      await closed
    },
  }
}

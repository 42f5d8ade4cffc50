/** `s3rver`, an S3 server in npm, as a process of its own behind a front that gives it what it lacks. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { createRequire } from "node:module"
import { createInterface } from "node:readline"
import type { S3Address } from "../client.ts"
import { type Front, startFront } from "./front.ts"

const program = createRequire(import.meta.url).resolve("s3rver/bin/s3rver.js")
/** Built into the server. */
const credentials = { accessKeyId: "S3RVER", secretAccessKey: "S3RVER" }
const BUCKET = "blobs"

/**
 * It opens files without listening for their errors, so one that goes while a request is under way would end it, and
 * fail every test from there on. This way it fails that request, and says why.
 */
const SURVIVE =
  "data:text/javascript,process.on('uncaughtException', error => console.error('s3rver:', error))"

export interface TestServer extends AsyncDisposable {
  readonly front: Front
  readonly address: S3Address
}

const portOf = async ({ stdout }: ChildProcess): Promise<number> => {
  if (stdout) {
    for await (const line of createInterface({ input: stdout })) {
      const match = /^S3rver listening on .*:(\d+)$/.exec(line)
      if (match) return Number(match[1])
    }
  }
  throw new Error("s3rver did not start")
}

export const startS3Server = async (folder: string): Promise<TestServer> => {
  const args = ["-d", folder, "-a", "127.0.0.1", "-p", "0", "-s", "--no-vhost-buckets"]
  const child = spawn(
    process.execPath,
    ["--import", SURVIVE, program, ...args, "--configure-bucket", BUCKET],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  )
  const exited = once(child, "exit")
  const stop = async () => {
    child.kill("SIGKILL")
    await exited
  }
  try {
    const port = await portOf(child)
    child.stdout.resume()
    const front = await startFront({ port, folder: `${folder}/${BUCKET}` })
    return {
      front,
      address: {
        endpoint: `http://127.0.0.1:${front.port}`,
        bucket: BUCKET,
        prefix: "",
        region: "us-east-1",
        credentials,
        addressing: "path",
      },
      async [Symbol.asyncDispose]() {
        await front[Symbol.asyncDispose]()
        await stop()
      },
    }
  } catch (error) {
    await stop()
    throw error
  }
}

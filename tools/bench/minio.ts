/**
 * MinIO as a peer, where it is there: `GOBIN=<folder> go install github.com/minio/minio@latest`, then run the bench with
 * that folder in PATH.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { freePort } from "../../packages/server/src/testing/ports.ts"

export interface S3Server {
  readonly endpoint: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

const MINIO_PORT = await freePort()
const USER = "bench-access-key"
const PASSWORD = "bench-secret-key"
const READY_TRIES = 200

/** Undefined where there is no MinIO. */
export const startMinio = async (
  folder: string,
): Promise<{ readonly server: S3Server; readonly process: ChildProcess } | undefined> => {
  if (spawnSync("minio", ["--version"]).status !== 0) return undefined
  const data = join(folder, "minio")
  mkdirSync(data)
  const endpoint = `http://127.0.0.1:${MINIO_PORT}`
  const child = spawn("minio", ["server", "--quiet", "--address", `127.0.0.1:${MINIO_PORT}`, data], {
    stdio: "ignore",
    env: { PATH: process.env.PATH, HOME: folder, MINIO_ROOT_USER: USER, MINIO_ROOT_PASSWORD: PASSWORD },
  })
  for (let attempt = 0; attempt < READY_TRIES; attempt++) {
    const isReady = await fetch(`${endpoint}/minio/health/ready`).then(
      ({ ok }) => ok,
      () => false,
    )
    if (isReady) return { server: { endpoint, accessKeyId: USER, secretAccessKey: PASSWORD }, process: child }
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  child.kill()
  return undefined
}

/** The clients, in fixed versions and outside of this tree. */
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const PYTHON_PACKAGES = ["boto3==1.44.5", "awscli==1.46.3", "minio==7.2.20"]
const MINIO_CLIENT = "github.com/minio/mc@v0.0.0-20250313080218-cf909e1063a9"

const folder = process.env.SVC_S3_CLIENTS_DIR ?? join(tmpdir(), "svc-s3-clients")

const has = (program: string, ...words: readonly string[]): boolean => spawnSync(program, words).status === 0

const run = (
  program: string,
  words: readonly string[],
  more: Readonly<Record<string, string>> = {},
): void => {
  const { status } = spawnSync(program, words, { stdio: "inherit", env: { ...process.env, ...more } })
  if (status !== 0) throw new Error(`${program} ${words.join(" ")} ended with ${status}`)
}

/** Installs anew if other versions are wanted than those that are there. */
const installOnce = (place: string, wanted: string, install: () => void): void => {
  const note = join(place, "installed.txt")
  if (existsSync(note) && readFileSync(note, "utf8") === wanted) return
  rmSync(place, { recursive: true, force: true })
  mkdirSync(place, { recursive: true })
  install()
  writeFileSync(note, wanted)
}

export interface Programs {
  /** The folder of Python's programs; undefined where Python is missing. */
  readonly python: string | undefined
  readonly mc: string | undefined
  readonly rclone: string | undefined
  readonly s3cmd: string | undefined
}

export const installPrograms = (): Programs => {
  const python = join(folder, "python")
  const go = join(folder, "go")
  const hasPython = has("python3", "-m", "venv", "--help")
  const hasGo = has("go", "version")
  if (hasPython)
    installOnce(python, PYTHON_PACKAGES.join("\n"), () => {
      run("python3", ["-m", "venv", python])
      run(join(python, "bin/pip"), ["install", "--quiet", "--disable-pip-version-check", ...PYTHON_PACKAGES])
    })
  if (hasGo) installOnce(go, MINIO_CLIENT, () => run("go", ["install", MINIO_CLIENT], { GOBIN: go }))
  return {
    python: hasPython ? join(python, "bin") : undefined,
    mc: hasGo ? join(go, "mc") : undefined,
    rclone: has("rclone", "--version") ? "rclone" : undefined,
    s3cmd: has("s3cmd", "--version") ? "s3cmd" : undefined,
  }
}

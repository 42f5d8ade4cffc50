/** Where the address and the key of `svc login` are kept: the address in a file, the key in the system's keychain. */
import { randomUUID } from "node:crypto"
import { mkdir, open, readFile, rename, rm, stat } from "node:fs/promises"
import { homedir } from "node:os"
import { dirname, join } from "node:path"
import { type Keychain, macosKeychain, windowsKeychain } from "./keychains.ts"
import { type Terminal, UsageError } from "./terminal.ts"

type Env = Terminal["env"]

const configFolder = (env: Env): string => {
  if (process.platform === "win32" && env.APPDATA) return join(env.APPDATA, "svc")
  // A relative XDG_CONFIG_HOME must be ignored, says its specification.
  const base = env.XDG_CONFIG_HOME?.startsWith("/")
    ? env.XDG_CONFIG_HOME
    : join(env.HOME ?? homedir(), ".config")
  return join(base, "svc")
}

export const openKeychain = (env: Env, platform: NodeJS.Platform = process.platform): Keychain => {
  if (platform === "darwin") return macosKeychain(env)
  if (platform === "win32") return windowsKeychain(env)
  return fileKeychain(join(configFolder(env), "credentials.json"))
}

/** An owner-only file; a file that others can read is refused rather than trusted. */
export const fileKeychain = (path: string): Keychain => {
  const read = async (): Promise<Record<string, string>> => {
    const { mode } = await stat(path).catch(absent)
    if (mode === undefined) return {}
    if ((mode & 0o077) !== 0)
      throw new UsageError(`${path} can be read by others; run chmod 600 ${path}, and rotate the keys in it`)
    return readJson(path)
  }
  return {
    name: path,
    async find(url) {
      const keys = await read()
      return Object.hasOwn(keys, url) ? keys[url] : undefined
    },
    async save(url, key) {
      await writePrivately(path, { ...(await read()), [url]: key })
    },
    async remove(url) {
      const { [url]: removed, ...others } = await read()
      if (removed !== undefined) await writePrivately(path, others)
      return removed !== undefined
    },
  }
}

const configPath = (env: Env): string => join(configFolder(env), "config.json")

/** The address of the last login. */
export const readConfiguredUrl = async (env: Env): Promise<string | undefined> => {
  const { url } = await readJson(configPath(env))
  return typeof url === "string" ? url : undefined
}

export const saveConfiguredUrl = (env: Env, url: string): Promise<void> =>
  writePrivately(configPath(env), { url })

const absent = (error: NodeJS.ErrnoException): { mode?: number } => {
  if (error.code === "ENOENT") return {}
  throw error
}

const readJson = async (path: string): Promise<Record<string, string>> => {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "{}"
    throw error
  })
  try {
    return JSON.parse(text)
  } catch {
    throw new UsageError(`${path} is not JSON; correct or delete it`)
  }
}

/** Whole or not at all, and never readable by others, not even for the moment of writing. */
const writePrivately = async (path: string, value: unknown): Promise<void> => {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const draft = `${path}.${randomUUID()}`
  try {
    const file = await open(draft, "wx", 0o600)
    try {
      await file.writeFile(`${JSON.stringify(value, null, 2)}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

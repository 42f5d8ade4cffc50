import { randomBytes, randomUUID } from "node:crypto"
import { link, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { StartupError } from "../../kernel/startup-error.ts"

const KEY_BYTES = 32

const parse = (text: string, source: string): Buffer => {
  const key = Buffer.from(text.trim(), "base64")
  if (key.length === KEY_BYTES) return key
  throw new StartupError(
    `The master key in ${source} is not 32 bytes of base64.`,
    "Make one with: openssl rand -base64 32",
  )
}

/** The master key: the setting's, or the one in its file, made on the first start and readable by its owner only. */
export const loadMasterKey = async (
  dataDir: string,
  setting: string | undefined,
  file?: string,
): Promise<Buffer> => {
  if (setting !== undefined) return parse(setting, "SVC_MASTER_KEY")
  const path = file ?? join(dataDir, "master.key")
  const read = () => readFile(path, "utf8").catch(() => undefined)
  const known = await read()
  if (known !== undefined) return parse(known, path)

  // Linked into place whole: of two processes that start at once, one makes the key and both read the same.
  const draft = `${path}.${randomUUID()}`
  await writeFile(draft, `${randomBytes(KEY_BYTES).toString("base64")}\n`, { mode: 0o600, flush: true })
  await link(draft, path).catch(() => undefined)
  await rm(draft)
  return parse((await read()) ?? "", path)
}

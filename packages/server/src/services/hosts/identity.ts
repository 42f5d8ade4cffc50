import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { isUuid, newId } from "../../kernel/id.ts"

const read = (path: string): string | undefined => {
  try {
    return readFileSync(path, "utf8").trim()
  } catch {
    return undefined
  }
}

/** The id of the host whose disks are in this folder. Created once: the folder identifies the host. */
export const hostIdOf = (dataDir: string): string => {
  const path = join(dataDir, "host-id")
  const known = read(path)
  if (known !== undefined && isUuid(known)) return known
  const id = newId()
  writeFileSync(path, `${id}\n`, { mode: 0o600 })
  return id
}

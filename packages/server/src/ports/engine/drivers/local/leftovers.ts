import { existsSync } from "node:fs"
import { readdir, rm } from "node:fs/promises"
import { join } from "node:path"
import { clearLeftovers } from "../../../../kernel/db/embedded/leftovers.ts"
import { inParallel, REFLINK_PROBE } from "./copy.ts"
import { DRAFT } from "./images.ts"
import type { Layout } from "./layout.ts"
import { RECORD_FILE, type Records } from "./records.ts"

const remove = (path: string) => rm(path, { recursive: true, force: true })

const namesIn = async (directory: string): Promise<readonly string[]> =>
  existsSync(directory) ? await readdir(directory) : []

/**
 * Removes what the platform's last process left when it died at work: servers that outlived it are shut down (their
 * databases wake when they are asked for), and what it was making or removing goes. A volume's record is the last
 * thing that is made of it, so a folder for the record that holds none is one of a volume that nobody was told of.
 * A volume without even such a folder stays: more likely its records are on a disk that is not there.
 */
export const removeLeftovers = async (
  layout: Layout,
  records: Records,
  log: (line: string) => void,
): Promise<void> => {
  const { root, volumesDir, recordsDir } = layout
  for (const name of await namesIn(root)) if (name.startsWith(REFLINK_PROBE)) await remove(join(root, name))

  const endServer = async (id: string): Promise<boolean> => {
    const record = await records.find(id)
    if (!record && !existsSync(layout.recordDir(id))) log(`${id}: a volume without a record`)
    try {
      await clearLeftovers(layout.dataDir(id), layout.socketDir(record?.slot ?? -1), log)
      return true
    } catch (error) {
      // One volume keeps no other from starting; it is tried again when this one shall wake.
      log(`${id}: ${error}`)
      return false
    }
  }

  const tidyRecord = async (id: string) => {
    const record = await records.find(id)
    const kept = new Set(record?.bases.map(({ name }) => name))
    for (const name of await namesIn(layout.basesDir(id)))
      if (!kept.has(name)) await remove(join(layout.basesDir(id), name))
    for (const name of await namesIn(layout.recordDir(id)))
      if (name.startsWith(`${RECORD_FILE}.`)) await remove(join(layout.recordDir(id), name))
  }

  const removeHalfMade = async (id: string) => {
    log(`${id}: removed what was made of it before the platform ended`)
    await remove(layout.volumeDir(id))
    // Last: it says that the volume was never made.
    await remove(layout.recordDir(id))
  }

  const stuck = new Set<string>()
  await inParallel(await namesIn(volumesDir), async id => {
    if (id.startsWith(DRAFT)) await remove(join(volumesDir, id))
    else if (!(await endServer(id))) stuck.add(id)
  })
  await inParallel(await namesIn(recordsDir), async id => {
    if (await records.find(id)) await tidyRecord(id)
    else if (!stuck.has(id)) await removeHalfMade(id)
  })
}

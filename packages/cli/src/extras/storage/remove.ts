/** `svc storage rm`: an object, or all under a prefix. */
import type { OwnFlags } from "../../arguments.ts"
import { confirmDestroying } from "../../confirm.ts"
import { connectWithKey } from "../../connect.ts"
import { printJson } from "../../output.ts"
import { UsageError } from "../../terminal.ts"
import type { Extra } from "../extra.ts"
import { folderOf, parseRemote, showRemote } from "./address.ts"
import { pages } from "./listing.ts"

export const removeFlags: OwnFlags = {
  recursive: { type: "boolean", short: "r", about: "All keys under a prefix" },
}

export const removeUsage = `svc storage rm svc://<bucket>/<key>
svc storage rm -r svc://<bucket>/<prefix>`

export const remove: Extra = async (globals, [place, ...surplus], terminal, flags) => {
  if (surplus.length > 0) throw new UsageError("name one key, or a prefix with -r", "storage rm")
  const from = parseRemote(place)
  if (from.key === "" && !flags.recursive) throw new UsageError("name a key, or use -r", "storage rm")
  const svc = await connectWithKey(globals, terminal)
  await confirmDestroying(
    `Delete ${flags.recursive ? "everything under " : ""}${showRemote(from)}`,
    globals.yes,
    terminal,
  )
  let deleted = 0
  if (flags.recursive) {
    for await (const { data } of pages(svc, { ...from, key: folderOf(from.key) })) {
      if (data.length === 0) continue
      const keys = data.map(({ key }) => key)
      deleted += (await svc.storage.deleteObjects({ bucket: from.bucket, keys })).deleted.length
    }
  } else if ((await svc.storage.deleteObject({ bucket: from.bucket, key: from.key })).deleted) deleted = 1
  if (globals.json) printJson({ deleted }, terminal.out)
  else terminal.out.line(`${deleted} deleted`)
  return undefined
}

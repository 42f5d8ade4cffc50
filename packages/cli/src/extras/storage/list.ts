/** `svc storage ls`: buckets, and what is in them. */
import type { OwnFlags } from "../../arguments.ts"
import { connect, NO_KEY } from "../../connect.ts"
import { printJson, printTable } from "../../output.ts"
import { UsageError } from "../../terminal.ts"
import type { Extra } from "../extra.ts"
import { parseRemote } from "./address.ts"
import { pages } from "./listing.ts"
import { sizeText } from "./progress.ts"

export const listFlags: OwnFlags = {
  recursive: { type: "boolean", short: "r", about: "All keys, not one level of them" },
}

export const listUsage = `svc storage ls
svc storage ls svc://<bucket>/<prefix> [-r]`

export const list: Extra = async (globals, [place], terminal, flags) => {
  const { svc, hasKey } = await connect(globals, terminal)
  if (!hasKey) throw new UsageError(NO_KEY)
  if (place === undefined) {
    const { data } = await svc.storage.listBuckets({ limit: 200 })
    if (globals.json) printJson(data, terminal.out)
    else printTable(data, terminal.out, terminal.err)
    return undefined
  }
  const rows: Record<string, unknown>[] = []
  for await (const page of pages(svc, parseRemote(place), flags.recursive ? undefined : "/")) {
    rows.push(...page.delimited_prefixes.map(key => ({ size: null, last_modified: null, key })))
    rows.push(...page.data.map(({ key, size, last_modified }) => ({ size, last_modified, key })))
  }
  if (globals.json) printJson(rows, terminal.out)
  else if (rows.length === 0) terminal.err.line("none")
  else {
    const shown = rows.map(row => ({ ...row, size: row.size === null ? "" : sizeText(Number(row.size)) }))
    printTable(shown, terminal.out, terminal.err)
  }
  return undefined
}

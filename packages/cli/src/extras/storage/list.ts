/** `svc storage ls`: buckets, and what is in them. */
import type { OwnFlags } from "../../arguments.ts"
import { connectWithKey } from "../../connect.ts"
import { printJson, printTable } from "../../output.ts"
import type { Extra } from "../extra.ts"
import { allPages } from "../pages.ts"
import { parseRemote } from "./address.ts"
import { pages } from "./listing.ts"
import { sizeText } from "./progress.ts"

export const listFlags: OwnFlags = {
  recursive: { type: "boolean", short: "r", about: "All keys, not one level of them" },
}

export const listUsage = `svc storage ls
svc storage ls svc://<bucket>/<prefix> [-r]`

export const list: Extra = async (globals, [place], terminal, flags) => {
  const svc = await connectWithKey(globals, terminal)
  if (place === undefined) {
    const buckets = await allPages(page => svc.storage.listBuckets(page))
    if (globals.json) printJson(buckets, terminal.out)
    else printTable(buckets, terminal.out, terminal.err)
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

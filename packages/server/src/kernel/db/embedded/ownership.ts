import { chownSync, lchownSync, readdirSync } from "node:fs"
import { join } from "node:path"
import type { Account } from "./account.ts"

export const giveFile = (path: string, { uid, gid }: Account): void => chownSync(path, uid, gid)

/** Gives a directory and all in it to an account. Links themselves are given, and not followed. */
export const giveTree = (directory: string, account: Account): void => {
  // From outside in: once the directory is given, its earlier owner changes nothing in it any more.
  lchownSync(directory, account.uid, account.gid)
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) giveTree(path, account)
    else lchownSync(path, account.uid, account.gid)
  }
}

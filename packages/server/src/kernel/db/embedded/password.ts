import { randomBytes } from "node:crypto"
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { onDisk } from "../../startup-error.ts"
import type { Account } from "./account.ts"
import { giveFile } from "./ownership.ts"

/** In the data directory, for its owner alone. */
export const PASSWORD_FILE = "control.secret"
/** The password is as long as a key, so guesses need not be made slow; logins then cost as little as without one. */
export const QUICK_LOGIN = "scram_iterations=1"
const PASSWORD_BYTES = 24
const HBA = "local all all scram-sha-256\nlocal replication all scram-sha-256\n"

const read = (path: string): string | undefined => {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return undefined
  }
}

/** The superuser's password; made when the data directory has none. */
export const passwordOf = (dataDir: string): { readonly password: string; readonly isNew: boolean } => {
  const path = join(dataDir, PASSWORD_FILE)
  const known = read(path)
  if (known !== undefined) return { password: known.trim(), isNew: false }
  const password = randomBytes(PASSWORD_BYTES).toString("base64url")
  onDisk(`write ${path}`, () => {
    // Linked into place whole: a start that is cut off leaves no half of it.
    const draft = `${path}.${process.pid}`
    writeFileSync(draft, `${password}\n`, { mode: 0o600, flush: true })
    linkSync(draft, path)
    rmSync(draft)
  })
  return { password, isNew: true }
}

/** Whether logins need the password, by the file of rules that `demandPassword` writes. */
export const demandsPassword = (cluster: string): boolean => read(join(cluster, "pg_hba.conf")) === HBA

/** A new file, whatever lay there. */
export const writeRules = (path: string, rules: string, account: Account | undefined): void => {
  rmSync(path, { force: true })
  writeFileSync(path, rules, { mode: 0o600, flag: "wx", flush: true })
  if (account) giveFile(path, account)
}

/** The cluster is the account's, and nothing runs on it. */
export const demandPassword = (cluster: string, account: Account | undefined): void =>
  onDisk(`write the rules of logins in ${cluster}`, () => {
    const draft = join(cluster, `pg_hba.conf.${process.pid}`)
    writeRules(draft, HBA, account)
    renameSync(draft, join(cluster, "pg_hba.conf"))
  })

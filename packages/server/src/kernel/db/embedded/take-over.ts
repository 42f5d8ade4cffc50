import { existsSync, readFileSync, rmSync, statSync } from "node:fs"
import { join } from "node:path"
import pg from "pg"
import { onDisk } from "../../startup-error.ts"
import type { Account } from "./account.ts"
import type { Binaries } from "./binaries.ts"
import { DATABASE } from "./cluster.ts"
import { clearLeftovers } from "./leftovers.ts"
import { giveTree } from "./ownership.ts"
import { demandPassword, demandsPassword, QUICK_LOGIN, writeRules } from "./password.ts"
import { makePrivateDir } from "./placement.ts"
import { startServer } from "./server.ts"
import { serverSettings } from "./settings.ts"

/**
 * Sets the password of a cluster that is the account's and on which nothing runs: by a server whose socket only the
 * account and root reach, and that lets them in for this.
 */
const setPassword = async (options: {
  binaries: Binaries
  cluster: string
  /** Private to the account. */
  socketDir: string
  account: Account | undefined
  role: string
  password: string
  log: (line: string) => void
}): Promise<void> => {
  const { binaries, cluster, socketDir, account, role, password, log } = options
  const rules = join(cluster, `pg_hba.conf.open-${process.pid}`)
  onDisk(`write ${rules}`, () => writeRules(rules, "local postgres all trust\n", account))
  try {
    const settings = [...serverSettings({ socketDir, durable: true }), `hba_file=${rules}`]
    const server = await startServer({ binaries, cluster, settings, account, log })
    const client = new pg.Client({ host: socketDir, user: role, database: "postgres", ssl: false })
    try {
      await client.connect()
      await client.query(`SET ${QUICK_LOGIN}`)
      await client.query(`ALTER ROLE ${pg.escapeIdentifier(role)} PASSWORD ${pg.escapeLiteral(password)}`)
    } finally {
      await client.end()
      await server.stop()
    }
  } finally {
    rmSync(rules, { force: true })
  }
}

/**
 * Brings a cluster of an earlier version, which ran as the system's `postgres` and let everybody in who reached its
 * socket, to an account and a password of its own. Does nothing where it has both.
 */
export const takeOver = async (options: {
  binaries: Binaries
  cluster: string
  socketDir: string
  account: Account | undefined
  /** As whom an earlier version ran it. */
  named: Account | undefined
  password: string
  isNew: boolean
  log: (line: string) => void
}): Promise<void> => {
  const { binaries, cluster, socketDir, account, named, password, isNew, log } = options
  const versionFile = join(cluster, "PG_VERSION")
  // What is no cluster of ours is refused by who opens it.
  if (!existsSync(versionFile) || readFileSync(versionFile, "utf8").trim() !== binaries.major) return
  const owner = onDisk(`read the control database ${cluster}`, () => statSync(cluster).uid)
  const isOthers = account !== undefined && owner !== account.uid && owner === named?.uid
  const isOpen = isNew || !demandsPassword(cluster)
  if (!isOthers && !isOpen) return
  // A cluster of yet another user is refused with words of its own.
  if (!isOthers && owner !== (account?.uid ?? process.getuid?.())) return
  await clearLeftovers(cluster, socketDir, log)
  if (isOthers) {
    log(`the control database is given to user ${account.uid}`)
    onDisk(`give ${cluster} to user ${account.uid}`, () => {
      giveTree(cluster, account)
      rmSync(socketDir, { recursive: true, force: true })
    })
  }
  if (!isOpen) return
  log("the control database gets a password")
  makePrivateDir(socketDir, account)
  await setPassword({ binaries, cluster, socketDir, account, role: DATABASE, password, log })
  demandPassword(cluster, account)
}

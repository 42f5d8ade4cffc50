/** Sessions over the wire protocol, for tests of the area. */
import type { TestContext } from "node:test"
import pg from "pg"

/** Which branch, and as whom. */
export interface WireLogin {
  readonly host: string
  readonly port: number
  readonly branchId: string
  readonly role: string
  readonly password: string
  readonly database?: string
}

/** A session that ends with the test. */
export const openSession = async (t: TestContext, login: WireLogin): Promise<pg.Client> => {
  const { host, port, branchId, role, password, database = "app" } = login
  const client = new pg.Client({ host, port, database, user: `${role}.${branchId}`, password })
  client.on("error", () => undefined)
  t.after(() => client.end().catch(() => undefined))
  await client.connect()
  return client
}

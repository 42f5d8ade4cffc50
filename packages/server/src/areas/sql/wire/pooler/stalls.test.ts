/** Clients that stop in the middle of a message. */
import assert from "node:assert/strict"
import { type AddressInfo, createServer } from "node:net"
import { after, before, describe, type TestContext, test } from "node:test"
import { atEnd } from "../../../../kernel/db/embedded/testing/directories.ts"
import { createTestClock } from "../../../../testing/clock.ts"
import { createBranches } from "../branches.ts"
import { terminated } from "../error-response.ts"
import { greet } from "../greeting.ts"
import { farewell } from "../relay.ts"
import { route } from "../route.ts"
import { PASSWORD, startCluster, type TestCluster } from "../testing/cluster.ts"
import { until, verifierIn } from "../testing/platform.ts"
import { fieldsOf, loginByPassword, message, query } from "../testing/raw-client.ts"
import { WHOLE_BYTES_MAX } from "./client-frames.ts"
import { Pooler, type PoolerHost } from "./pooler.ts"

const LIMITS: PoolerHost["limits"] = {
  connectionsMax: 100,
  startupsPerAddressMax: 100,
  startupTimeoutMs: 60_000,
  openTimeoutMs: 60_000,
  pooledClientsMax: 100,
  poolSizeMax: 1,
  pooledServersMax: 1,
  poolWaitTimeoutMs: 60_000,
  poolIdleTimeoutMs: 60_000,
}
const SMALL = query(`select '${"x".repeat(1_000)}'`)
const LARGE = query(`select length('${"x".repeat(8 * WHOLE_BYTES_MAX)}')`)

describe("a client that stalls in the middle of a message", () => {
  let cluster: TestCluster
  before(async () => {
    cluster = await startCluster(18)
  })
  after(() => cluster[Symbol.asyncDispose]())

  /** A pooler with one server connection, in this process, whose clock the test turns. */
  const serve = async (t: TestContext) => {
    const clock = createTestClock()
    const branches = createBranches(() => undefined)
    const pooler = new Pooler({
      limits: LIMITS,
      clock,
      verifier: verifierIn([cluster]),
      mockSecret: async () => Buffer.alloc(32),
      open: async () => ({ socketPath: cluster.socketPath, wakeMs: 0, connectionsMax: 50 }),
      admit: branches.admit,
      leave: branches.leave,
      used: branches.used,
      claimKey: branches.claimKey,
      call: () => undefined,
      warn: (what, reason) => t.diagnostic(`${what}: ${reason}`),
    })
    const identity = () => Promise.reject(new Error("no TLS here"))
    const server = createServer({ pauseOnConnect: true }, async socket => {
      const greeting = await greet(socket, { identity, requireTls: "never" }, farewell)
      if (greeting?.wants.kind !== "startup") return
      const { parameters, protocol } = greeting.wants
      const settled = () => undefined
      const at = route(parameters, undefined)
      await pooler.serve({ greeting, at, protocol, settled, connectionId: "", clientAddress: "" })
    })
    await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve))
    atEnd(t, () => {
      server.close()
      pooler[Symbol.dispose]()
      branches.endAll(terminated())
      branches[Symbol.dispose]()
    })
    const { port } = server.address() as AddressInfo
    const user = `owner.${cluster.branchId}-pooler`
    return { clock, login: () => loginByPassword(t, { port, user, password: PASSWORD }) }
  }

  test("holds no server connection, whatever it asked for before", async t => {
    const { login } = await serve(t)
    const [staller, later, other] = [await login(), await login(), await login()]
    staller.socket.write(SMALL.subarray(0, 500))
    later.socket.write(Buffer.concat([query("select 1"), SMALL.subarray(0, 500)]))
    await later.until("Z")
    other.socket.write(query("select 2"))
    await other.until("Z")
    for (const client of [staller, later]) {
      client.socket.write(SMALL.subarray(500))
      assert.match((await client.until("D")).payload.toString(), /xxx/)
    }
  })

  for (const [name, bytes] of Object.entries({
    "a statement": LARGE,
    "a Parse": message("P", Buffer.concat([Buffer.from("named\0"), LARGE.subarray(5), Buffer.alloc(2)])),
  })) {
    test(`that is too large to be kept here, ${name}, is ended, and the next is served`, async t => {
      const { clock, login } = await serve(t)
      const [staller, other] = [await login(), await login()]
      staller.socket.write(bytes.subarray(0, 2 * WHOLE_BYTES_MAX))
      await until("it has the connection", async () => {
        const busy = await cluster.ask("select 1 from pg_stat_activity where usename = 'owner'")
        return busy.length === 1
      })
      const told = staller.next()
      other.socket.write(query("select 2"))
      const answered = other.until("Z")
      let isServed = false
      void answered.then(() => {
        isServed = true
      })
      await until("it is ended", async () => {
        await clock.advance(1_000)
        return isServed
      })
      const said = await told
      assert.ok(said?.type === "E")
      assert.equal(fieldsOf(said).C, "57P05")
    })
  }

  test("in a transaction of its own stays, as one that sends nothing there does", async t => {
    const { clock, login } = await serve(t)
    const client = await login()
    client.socket.write(query("begin"))
    await client.until("Z")
    client.socket.write(LARGE.subarray(0, 2 * WHOLE_BYTES_MAX))
    for (let turn = 0; turn < 60; turn++) await clock.advance(1_000)
    client.socket.write(LARGE.subarray(2 * WHOLE_BYTES_MAX))
    assert.match((await client.until("D")).payload.toString(), /524288/)
  })
})

import assert from "node:assert/strict"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { connect as connectTcp, createServer, type Socket } from "node:net"
import { after, before, describe, test } from "node:test"
import { signalProcess } from "../../../kernel/db/embedded/processes.ts"
import { atEnd } from "../../../kernel/db/embedded/testing/directories.ts"
import { startCluster, type TestCluster } from "./testing/cluster.ts"
import { startWire, until } from "./testing/platform.ts"
import { fieldsOf, loginRaw, query } from "./testing/raw-client.ts"

const isGone = (pid: number | undefined): boolean => pid === undefined || !signalProcess(pid, 0)

describe("the life of the proxy", () => {
  let cluster: TestCluster
  before(async () => {
    cluster = await startCluster(18)
  })
  after(() => cluster[Symbol.asyncDispose]())

  test("there is no process until the first connection, nor long after the last", async t => {
    const { wire, connect } = await startWire(t, [cluster], { idleTimeoutMs: 50 })
    assert.equal(wire.pid, undefined)
    const client = await connect(cluster.branchId)
    const { pid } = wire
    assert.notEqual(pid, undefined)
    assert.equal(wire.connections, 1)
    await client.end()
    await until("the process is gone", () => wire.pid === undefined && isGone(pid))
    await connect(cluster.branchId)
    assert.notEqual(wire.pid, pid)
  })

  test("when the process is killed its connections end for everybody, and the next one works", async t => {
    const { wire, connect, activity } = await startWire(t, [cluster])
    const clients = await Promise.all([connect(cluster.branchId), connect(cluster.branchId)])
    const ends = clients.map(client => new Promise<void>(resolve => client.once("end", () => resolve())))
    await until("both are told", () => activity.filter(({ kind }) => kind === "opened").length === 2)
    const { pid } = wire
    assert.ok(pid)
    signalProcess(pid, "SIGKILL")
    await Promise.all(ends)
    await until("their ends are told", () => activity.filter(({ kind }) => kind === "closed").length === 2)
    assert.equal(wire.connections, 0)
    const next = await connect(cluster.branchId)
    assert.equal((await next.query("select 1 as one")).rows[0]?.one, 1)
    assert.notEqual(wire.pid, pid)
  })

  test("a client that arrives as the process dies is hung up on, and does not wait", async t => {
    const { wire, connect } = await startWire(t, [cluster])
    for (const blocked of [true, false]) {
      await connect(cluster.branchId)
      const { pid } = wire
      assert.ok(pid)
      // Stopped, it leaves what it is sent where it is.
      if (!blocked) signalProcess(pid, "SIGSTOP")
      const sockets = Array.from({ length: 20 }, () => connectTcp({ host: "127.0.0.1", port: wire.port }))
      const ends = sockets.map(socket => {
        socket.on("error", () => undefined)
        return new Promise<void>(resolve => socket.resume().once("close", () => resolve()))
      })
      if (!blocked) await until("all are sent", () => wire.connections > 20)
      signalProcess(pid, "SIGKILL")
      // This process hears of the clients and of the death at the same moment.
      while (blocked && !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, "utf8")));
      await Promise.all(ends)
    }
    const next = await connect(cluster.branchId)
    assert.equal((await next.query("select 1 as one")).rows[0]?.one, 1)
  })

  test("the process does not die of the signals a terminal sends to all", async t => {
    const { wire, connect } = await startWire(t, [cluster])
    const client = await connect(cluster.branchId)
    assert.ok(wire.pid)
    for (const signal of ["SIGINT", "SIGTERM"] as const) signalProcess(wire.pid, signal)
    assert.equal((await client.query("select 1 as one")).rows[0]?.one, 1)
  })

  test("at the end clients are told, and the process is gone", async t => {
    const { wire, connect } = await startWire(t, [cluster])
    const client = await loginRaw(t, { port: wire.port, branchId: cluster.branchId })
    const encrypted = await connect(cluster.branchId, { ssl: { rejectUnauthorized: false } })
    const told = new Promise<unknown>(resolve => encrypted.once("error", resolve))
    const { pid } = wire
    const closing = wire[Symbol.asyncDispose]()
    assert.equal(((await told) as { code?: string }).code, "57P01")
    assert.equal(fieldsOf(await client.until("E")).C, "57P01")
    assert.equal(await client.next(), undefined)
    await closing
    assert.ok(isGone(pid))
    const late = connectTcp({ host: "127.0.0.1", port: wire.port })
    await assert.rejects(once(late, "connect"), { code: "ECONNREFUSED" })
  })

  test("disconnecting a branch ends its sessions and what they run, and nobody else's", async t => {
    const other = await startCluster(18)
    atEnd(t, () => other[Symbol.asyncDispose]())
    const { wire, connect } = await startWire(t, [cluster, other])
    const stays = await connect(other.branchId)
    const [idle, busy] = await Promise.all([
      loginRaw(t, { port: wire.port, branchId: cluster.branchId }),
      loginRaw(t, { port: wire.port, branchId: cluster.branchId }),
    ])
    busy.socket.write(query("select pg_sleep(60)"))
    const sessions = "select 1 from pg_stat_activity where usename = 'guest'"
    await until("it sleeps", async () => {
      return (await cluster.ask(`${sessions} and wait_event = 'PgSleep'`)).length === 1
    })
    wire.disconnect(cluster.branchId)
    for (const client of [idle, busy]) {
      assert.equal(fieldsOf(await client.until("E")).C, "57P01")
      assert.equal(await client.next(), undefined)
    }
    await until("the server has no sessions", async () => (await cluster.ask(sessions)).length === 0)
    assert.equal((await stays.query("select 1 as one")).rows[0]?.one, 1)
  })

  test("a session is told as opened, busy while a transaction is open, idle and closed", async t => {
    const { connect, activity } = await startWire(t, [cluster])
    const client = await connect(cluster.branchId)
    await until("it is idle after the login", () => activity.at(-1)?.kind === "idle")
    await client.query("begin")
    const before = activity.length
    await until(
      "it is busy three times",
      () => activity.slice(before - 1).filter(({ kind }) => kind === "busy").length >= 3,
    )
    await client.query("commit")
    await until("it is idle", () => activity.at(-1)?.kind === "idle")
    await client.end()
    await until("it is closed", () => activity.at(-1)?.kind === "closed")
    assert.equal(activity[0]?.kind, "opened")
    assert.equal(new Set(activity.map(({ connectionId }) => connectionId)).size, 1)
  })

  test("hundreds of clients that come and go leave nothing behind", async t => {
    const { wire, connect, activity } = await startWire(t, [cluster])
    for (let round = 0; round < 5; round++) {
      const clients = await Promise.all(Array.from({ length: 40 }, () => connect(cluster.branchId)))
      await Promise.all(clients.map(client => client.query("select 1")))
      await Promise.all(clients.map(client => client.end()))
      await until("all are gone", () => wire.connections === 0)
      await until("the server has room", async () => {
        return (await cluster.ask("select 1 from pg_stat_activity where usename = 'owner'")).length === 0
      })
    }
    const count = (kind: string) => activity.filter(event => event.kind === kind).length
    await until("all is told", () => count("opened") === 200 && count("closed") === 200)
  })
})

test("when a server dies its clients are told so in the protocol, and the next connection asks anew", async t => {
  const cluster = await startCluster(17)
  atEnd(t, () => cluster[Symbol.asyncDispose]())
  const { wire } = await startWire(t, [cluster])
  const client = await loginRaw(t, { port: wire.port, branchId: cluster.branchId })
  const [backend] = await cluster.ask("select pid from pg_stat_activity where usename = 'guest'")
  signalProcess(Number(backend?.pid), "SIGKILL")
  assert.equal(fieldsOf(await client.until("E")).C, "57P01")
  assert.equal(await client.next(), undefined)
})

test("a server that dies in the middle of a message leaves its client with a broken connection, not a wrong one", async t => {
  const sockets: Socket[] = []
  const server = createServer(socket => {
    sockets.push(socket)
    socket.on("error", () => undefined)
    // An answer that promises a hundred bytes and brings three.
    socket.once("data", () =>
      socket.write(Buffer.from([0x44, 0, 0, 0, 100, 1, 2, 3]), () => socket.destroy()),
    )
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  atEnd(t, () => server.close())
  const address = server.address()
  assert.ok(address !== null && typeof address === "object")
  const target = { host: "127.0.0.1", port: address.port, wakeMs: 0, connectionsMax: 10 }
  const { wire } = await startWire(t, [], { open: async () => target })
  await assert.rejects(loginRaw(t, { port: wire.port, branchId: "0198c0de-0000-7000-8000-00000000000a" }))
  await until("it is gone", () => wire.connections === 0)
})

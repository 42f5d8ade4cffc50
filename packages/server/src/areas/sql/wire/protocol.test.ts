import assert from "node:assert/strict"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { connect as connectTcp, createServer } from "node:net"
import { after, before, describe, test } from "node:test"
import { connect as connectTls } from "node:tls"
import { atEnd, temporaryDir } from "../../../kernel/db/embedded/testing/directories.ts"
import { pgVersions } from "../../../ports/engine/port.ts"
import { ownCertificate } from "../../../services/postgres/certificate.ts"
import { freePort } from "../../../testing/ports.ts"
import { encodeCancel, encodeStartup } from "./startup-packet.ts"
import { GUEST, startCluster, type TestCluster } from "./testing/cluster.ts"
import { AUTHORITY_SECRET, startWire, until } from "./testing/platform.ts"
import {
  fieldsOf,
  loginRaw,
  message,
  openRaw,
  PROTOCOL_3_2,
  query,
  type RawClient,
  readMessages,
} from "./testing/raw-client.ts"

/** Fails when it runs, not when it is planned. */
const FAILING = "select 1 / (random() * 0)::int"
const ROWS = 50_000
const ROW = "x".repeat(1_000)
/** Far below the fifty megabytes that pass, and above what a young heap varies by. */
const GROWTH_BYTES_MAX = 32 * 1024 * 1024
const skipMemory = process.platform === "linux" ? false : "memory is read from /proc"

const residentBytes = (pid: number | undefined): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024

const collectTypes = async (client: RawClient, count: number): Promise<string> => {
  let types = ""
  for (let ready = 0; ready < count; ) {
    const found = await client.next()
    assert.ok(found)
    types += found.type
    if (found.type === "Z") ready += 1
  }
  return types
}

for (const version of pgVersions) {
  describe(`the protocol of PostgreSQL ${version}`, () => {
    let cluster: TestCluster
    before(async () => {
      cluster = await startCluster(version)
      await cluster.ask(`create table copied (line text); grant all on copied to ${GUEST}`)
    })
    after(() => cluster[Symbol.asyncDispose]())
    const branch = ({ port }: { port: number }) => ({ port, branchId: cluster.branchId })

    test("pipelined statements are all answered, also those behind an error", async t => {
      const { wire, calls } = await startWire(t, [cluster])
      const client = await loginRaw(t, branch(wire))
      const step = (sql: string) => [
        message("P", `\0${sql}\0\0\0`),
        message("B", "\0\0\0\0\0\0\0\0"),
        message("E", "\0\0\0\0\0"),
      ]
      client.socket.write(
        Buffer.concat([
          ...[...step("select 1"), ...step("select 2"), ...step(FAILING), ...step("select 4"), message("S")],
          ...[...step("select 5"), message("S"), query("select 6; select 7")],
        ]),
      )
      assert.equal(await collectTypes(client, 3), "12DC12DC12EZ12DCZTDCTDCZ")
      await until("all are told", () => calls.length === 5)
      assert.deepEqual(
        calls.map(({ sql, sqlstate }) => [sql, sqlstate]),
        [
          ["select 1", null],
          ["select 2", null],
          [FAILING, "22012"],
          ["select 5", null],
          ["select 6; select 7", null],
        ],
      )
    })

    test("a client of protocol 3.2 gets the keys of its server, and can cancel with them", async t => {
      const { wire } = await startWire(t, [cluster])
      const client = await loginRaw(t, { ...branch(wire), protocol: PROTOCOL_3_2 })
      assert.equal(client.key.length, version === 18 ? 36 : 8)
      client.socket.write(query("select pg_sleep(60)"))
      const asleep = "select 1 from pg_stat_activity where wait_event = 'PgSleep'"
      await until("it sleeps", async () => (await cluster.ask(asleep)).length === 1)
      const canceller = await openRaw(t, wire.port)
      canceller.resume().write(encodeCancel(client.key.toString("latin1")))
      await new Promise(resolve => canceller.once("close", resolve))
      assert.equal(fieldsOf(await client.until("E")).C, "57014")
    })

    test("a client that does not read holds up its server, not the proxy's memory", {
      skip: skipMemory,
    }, async t => {
      const { wire } = await startWire(t, [cluster])
      const client = await loginRaw(t, branch(wire))
      const before = residentBytes(wire.pid)
      client.socket.write(query(`copy (select repeat('x', 1000) from generate_series(1, ${ROWS})) to stdout`))
      const waiting = "select 1 from pg_stat_activity where wait_event = 'ClientWrite'"
      await until("the server waits", async () => (await cluster.ask(waiting)).length === 1)
      assert.ok(residentBytes(wire.pid) - before < GROWTH_BYTES_MAX)
      let bytes = 0
      for (let found = await client.next(); found && found.type !== "Z"; found = await client.next()) {
        if (found.type === "d") bytes += found.payload.length
      }
      assert.equal(bytes, ROWS * 1_001)
      assert.ok(residentBytes(wire.pid) - before < 2 * GROWTH_BYTES_MAX)
    })

    test("a server that does not read holds up its client, not the proxy's memory", {
      skip: skipMemory,
    }, async t => {
      const { wire } = await startWire(t, [cluster])
      const [client, locker] = await Promise.all([loginRaw(t, branch(wire)), loginRaw(t, branch(wire))])
      locker.socket.write(query("begin; lock table copied"))
      await locker.until("Z")
      const before = residentBytes(wire.pid)
      client.socket.write(query("copy copied from stdin"))
      const rows = Buffer.concat(Array.from({ length: 500 }, () => message("d", `${ROW}\n`)))
      for (let sent = 0; sent < ROWS; sent += 500) client.socket.write(rows)
      client.socket.write(message("c"))
      const waiting = "select 1 from pg_stat_activity where wait_event_type = 'Lock'"
      await until("the server waits", async () => (await cluster.ask(waiting)).length === 1)
      assert.ok(client.socket.writableLength > ROWS * 500)
      assert.ok(residentBytes(wire.pid) - before < GROWTH_BYTES_MAX)
      locker.socket.write(query("commit"))
      assert.equal((await client.until("C")).payload.toString(), `COPY ${ROWS}\0`)
      assert.ok(residentBytes(wire.pid) - before < 2 * GROWTH_BYTES_MAX)
    })

    test("a client that vanishes in the middle of a statement has it rolled back", async t => {
      const { wire, activity } = await startWire(t, [cluster])
      const client = await loginRaw(t, branch(wire))
      client.socket.write(query("begin; insert into copied values ('lost'); select pg_sleep(60)"))
      const asleep = "select 1 from pg_stat_activity where wait_event = 'PgSleep'"
      await until("it sleeps", async () => (await cluster.ask(asleep)).length === 1)
      client.socket.destroy()
      await until("it is gone", async () => {
        return (await cluster.ask(`select 1 from pg_stat_activity where usename = '${GUEST}'`)).length === 0
      })
      assert.deepEqual(await cluster.ask("select 1 from copied where line = 'lost'"), [])
      await until("it is told", () => activity.some(({ kind }) => kind === "closed"))
    })

    test("a client that says goodbye has done what it asked for before", async t => {
      const { wire } = await startWire(t, [cluster])
      const client = await loginRaw(t, branch(wire))
      client.socket.end(
        Buffer.concat([
          query("select pg_sleep(0.3)"),
          query("insert into copied values ('kept')"),
          message("X"),
        ]),
      )
      await until("it is done", async () => {
        return (await cluster.ask("select 1 from copied where line = 'kept'")).length === 1
      })
    })
  })
}

test("two branches at once do not see each other, nor can the key of one cancel in the other", async t => {
  const clusters = await Promise.all([startCluster(16), startCluster(18)])
  t.after(() => Promise.all(clusters.map(cluster => cluster[Symbol.asyncDispose]())))
  const { wire, connect } = await startWire(t, clusters)
  const seen = await Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      const cluster = clusters[index % 2]
      assert.ok(cluster)
      const client = await connect(cluster.branchId)
      const { rows } = await client.query("show server_version_num")
      return Math.floor(Number(rows[0]?.server_version_num) / 10_000) === cluster.version
    }),
  )
  assert.deepEqual(new Set(seen), new Set([true]))
  const [first, second] = clusters
  assert.ok(first && second)
  const stranger = readMessages(await openRaw(t, wire.port))
  stranger.socket.write(
    encodeStartup(
      PROTOCOL_3_2,
      new Map([
        ["user", `${GUEST}.${first.branchId}`],
        ["database", second.branchId],
      ]),
    ),
  )
  assert.equal(fieldsOf(await stranger.until("E")).C, "28000")
})

test("a cancel request over TLS ends with TLS's own goodbye", async t => {
  const { wire } = await startWire(t, [])
  const relayed = createServer(client => {
    const server = connectTcp({ host: "127.0.0.1", port: wire.port })
    server.on("data", chunk => fromServer.push(chunk))
    client.pipe(server).pipe(client)
  })
  const fromServer: Buffer[] = []
  relayed.listen(0, "127.0.0.1")
  await once(relayed, "listening")
  atEnd(t, () => relayed.close())
  const address = relayed.address()
  assert.ok(address !== null && typeof address === "object")
  // Before TLS 1.3 a goodbye can be told from data without the keys.
  const socket = connectTls({
    socket: connectTcp({ host: "127.0.0.1", port: address.port }),
    ...{ rejectUnauthorized: false, ALPNProtocols: ["postgresql"], maxVersion: "TLSv1.2" },
  })
  socket.write(encodeCancel("12345678"))
  socket.resume()
  await once(socket, "close")
  const bytes = Buffer.concat(fromServer)
  const types: number[] = []
  for (let at = 0; at < bytes.length; at += 5 + bytes.readUInt16BE(at + 3)) types.push(bytes.readUInt8(at))
  const ALERT = 21
  assert.equal(types.at(-1), ALERT)
})

test("a server on another machine is reached over TLS, with its certificate checked, to cancel too", async t => {
  const folder = temporaryDir(t)
  const certificate = await ownCertificate({
    ...{ folder, host: "db.internal" },
    authoritySecret: AUTHORITY_SECRET,
  })
  const port = await freePort()
  const cluster = await startCluster(18, { port, certificate })
  atEnd(t, () => cluster[Symbol.asyncDispose]())
  const at = (servername: string) => ({
    open: async () => ({
      ...{ host: "127.0.0.1", port, wakeMs: 0, connectionsMax: 10 },
      tls: { ca: certificate.ca, servername },
    }),
  })
  const { wire } = await startWire(t, [], at("db.internal"))
  const client = await loginRaw(t, { port: wire.port, branchId: cluster.branchId })
  client.socket.write(query("select pg_sleep(60)"))
  const asleep =
    "select 1 from pg_stat_activity join pg_stat_ssl using (pid) where ssl and wait_event = 'PgSleep'"
  await until("it sleeps, encrypted", async () => (await cluster.ask(asleep)).length === 1)
  const canceller = await openRaw(t, wire.port)
  canceller.resume().write(encodeCancel(client.key.toString("latin1")))
  assert.equal(fieldsOf(await client.until("E")).C, "57014")

  const wrong = await startWire(t, [], at("db.elsewhere"))
  const turnedAway = readMessages(await openRaw(t, wrong.wire.port))
  turnedAway.socket.write(encodeStartup(PROTOCOL_3_2, new Map([["user", `${GUEST}.${cluster.branchId}`]])))
  assert.equal(fieldsOf(await turnedAway.until("E")).C, "57P03")
})

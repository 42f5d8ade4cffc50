import assert from "node:assert/strict"
import { once } from "node:events"
import type { Socket } from "node:net"
import { after, before, describe, test } from "node:test"
import { connect as connectTls } from "node:tls"
import fc from "fast-check"
import { isLoopback } from "../../../services/postgres/client-port.ts"
import { SQLSTATE, WireRefusal } from "./error-response.ts"
import { encodeCancel, encodeStartup, encodeTlsRequest } from "./startup-packet.ts"
import { GUEST, startCluster, type TestCluster } from "./testing/cluster.ts"
import { startWire, until } from "./testing/platform.ts"
import {
  fieldsOf,
  loginRaw,
  message,
  openRaw,
  PROTOCOL_3_0,
  query,
  readMessages,
} from "./testing/raw-client.ts"

const UNKNOWN = "0198c0de-0000-7000-8000-00000000dead"

const startup = (user: string, more: Record<string, string> = {}) =>
  encodeStartup(PROTOCOL_3_0, new Map(Object.entries({ user, ...more })))

/** All that comes until the other side hangs up. */
const drain = async (socket: Socket): Promise<Buffer> => {
  const chunks: Buffer[] = []
  socket.on("data", chunk => chunks.push(chunk))
  if (!socket.closed) await once(socket, "close")
  return Buffer.concat(chunks)
}

/** A wire that answers every request to open with a refusal. */
const refusing = (sqlstate: string, message: string) => ({
  open: async () => {
    throw new WireRefusal({ sqlstate, message })
  },
})

describe("who is turned away", () => {
  let cluster: TestCluster
  before(async () => {
    cluster = await startCluster(18)
  })
  after(() => cluster[Symbol.asyncDispose]())

  test("a branch that does not exist looks like a wrong password, from the first message to the last", async t => {
    const { connect } = await startWire(t, [cluster])
    const seen = async (branchId: string) => {
      const error = await connect(branchId, { password: "wrong" }).then(
        () => assert.fail("logged in"),
        (error: Record<string, unknown>) => error,
      )
      const { message, code, severity } = error
      return { message, code, severity }
    }
    const expected = {
      message: 'password authentication failed for user "owner"',
      code: "28P01",
      severity: "FATAL",
    }
    assert.deepEqual(await seen(cluster.branchId), expected)
    assert.deepEqual(await seen(UNKNOWN), expected)
  })

  test("a branch that does not exist has the same salt each time, and others have others", async t => {
    const { wire } = await startWire(t, [cluster])
    const salt = async (branchId: string): Promise<string> => {
      const client = readMessages(await openRaw(t, wire.port))
      client.socket.write(startup(`owner.${branchId}`))
      assert.equal((await client.until("R")).payload.toString("latin1", 4), "SCRAM-SHA-256\0\0")
      const first = "n,,n=,r=abcdefghijklmnopqrstuvwx"
      const payload = Buffer.from(`SCRAM-SHA-256\0\0\0\0${String.fromCharCode(first.length)}${first}`)
      const head = Buffer.alloc(5, "p")
      head.writeInt32BE(payload.length + 4, 1)
      client.socket.write(Buffer.concat([head, payload]))
      const challenge = (await client.until("R")).payload.toString("latin1", 4)
      const found = /^r=abcdefghijklmnopqrstuvwx[^,]{24},s=([^,]{24}),i=4096$/.exec(challenge)
      assert.ok(found, challenge)
      client.socket.destroy()
      return found[1] ?? ""
    }
    const other = UNKNOWN.replace("dead", "beef")
    assert.equal(await salt(UNKNOWN), await salt(UNKNOWN))
    assert.notEqual(await salt(UNKNOWN), await salt(other))
    await salt(cluster.branchId)
  })

  test("roles of the platform, replication and unknown versions are refused before any branch wakes", async t => {
    const { wire } = await startWire(t, [cluster], {
      open: async () => assert.fail("a branch was woken"),
    })
    const tries: [Buffer, string][] = [
      [startup(`svc_super.${cluster.branchId}`), "28000"],
      [startup(`owner.${cluster.branchId}`, { replication: "database" }), "28000"],
      [startup("owner"), "28000"],
      [encodeStartup(0x0002_0000, new Map([["user", "owner"]])), "0A000"],
    ]
    for (const [packet, sqlstate] of tries) {
      const client = readMessages(await openRaw(t, wire.port))
      client.socket.write(packet)
      const fields = fieldsOf(await client.until("E"))
      assert.equal(fields.C, sqlstate)
      assert.equal(fields.V, "FATAL")
      assert.equal(await client.next(), undefined)
    }
  })

  test("what the platform says of a branch that cannot wake reaches the client", async t => {
    const { connect } = await startWire(t, [], refusing(SQLSTATE.cannotConnectNow, "the queue is full"))
    await assert.rejects(connect(cluster.branchId), { code: "57P03", message: "the queue is full" })
  })

  test("a branch that takes too long to wake is given up, and one whose server is not there too", async t => {
    const never = await startWire(t, [], {
      open: () => new Promise(() => undefined),
      limits: { openTimeoutMs: 50 },
    })
    await assert.rejects(never.connect(cluster.branchId), { code: "57P03" })
    const absent = { socketPath: "/nowhere/.s.PGSQL.5432", wakeMs: 0, connectionsMax: 10 }
    const gone = await startWire(t, [], { open: async () => absent })
    await assert.rejects(gone.connect(cluster.branchId), { code: "57P03" })
  })

  test("a branch has only as many connections as it may, and room again when one ends", async t => {
    const { connect, activity } = await startWire(t, [cluster], {
      open: async () => ({ socketPath: cluster.socketPath, wakeMs: 0, connectionsMax: 2 }),
    })
    const [first] = await Promise.all([connect(cluster.branchId), connect(cluster.branchId)])
    await assert.rejects(connect(cluster.branchId), { code: "53300" })
    await first.end()
    await until("one ended", () => activity.some(({ kind }) => kind === "closed"))
    await connect(cluster.branchId)
  })

  test("connections beyond the whole port's bound, and beyond an address's unfinished ones, are refused", async t => {
    const whole = await startWire(t, [cluster], { limits: { connectionsMax: 1 } })
    await whole.connect(cluster.branchId)
    await assert.rejects(whole.connect(cluster.branchId), { code: "53300" })

    const unfinished = await startWire(t, [cluster], { limits: { startupsPerAddressMax: 2 } })
    const waiting = [await openRaw(t, unfinished.wire.port), await openRaw(t, unfinished.wire.port)]
    await assert.rejects(unfinished.connect(cluster.branchId), { code: "53300" })
    waiting[0]?.destroy()
    await until("one is gone", () => unfinished.wire.connections === 1)
    await unfinished.connect(cluster.branchId)
    await unfinished.connect(cluster.branchId)
  })

  test("without TLS nobody gets in where it is required, but may still cancel", async t => {
    const { connect, wire } = await startWire(t, [cluster], { requireTls: "always" })
    await assert.rejects(connect(cluster.branchId), { code: "28000" })
    const client = await connect(cluster.branchId, { ssl: { rejectUnauthorized: false } })
    assert.equal((await client.query("select 1 as one")).rows[0]?.one, 1)
    const canceller = await openRaw(t, wire.port)
    canceller.write(encodeCancel("\0\0\0\x01abcd"))
    assert.equal((await drain(canceller)).length, 0)
  })

  test("addresses of this machine are told from others", () => {
    for (const address of ["127.0.0.1", "127.3.2.1", "::1", "::ffff:127.0.0.1"])
      assert.ok(isLoopback(address))
    for (const address of ["", "128.0.0.1", "::2", "10.127.0.1", "::ffff:10.0.0.1", "::11"]) {
      assert.ok(!isLoopback(address), address)
    }
  })
})

describe("what is no client", () => {
  let cluster: TestCluster
  before(async () => {
    cluster = await startCluster(17)
  })
  after(() => cluster[Symbol.asyncDispose]())

  test("garbage, other protocols and packets that are too long are hung up on", async t => {
    const { wire, connect } = await startWire(t, [cluster])
    const long = Buffer.alloc(20_000)
    long.writeInt32BE(long.length)
    long.writeInt32BE(PROTOCOL_3_0, 4)
    const tries = [
      Buffer.from("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"),
      Buffer.from([0, 0, 0, 4, 0, 0, 0, 0]),
      Buffer.from([0x16, 0x03, 0x01, 0xff, 0xff, 0x00]),
      Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
      long,
    ]
    for (const bytes of tries) {
      const socket = await openRaw(t, wire.port)
      socket.end(bytes)
      await drain(socket)
    }
    await until("all are gone", () => wire.connections === 0)
    await connect(cluster.branchId)
  })

  test("no bytes at all can harm the proxy", async t => {
    const { wire, connect } = await startWire(t, [cluster])
    await connect(cluster.branchId)
    const { pid } = wire
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(
          Buffer.alloc(0),
          encodeTlsRequest(),
          startup(`${GUEST}.${cluster.branchId}`),
          startup(`x.${UNKNOWN}`),
        ),
        fc.uint8Array({ maxLength: 300 }),
        async (begin, rest) => {
          const socket = await openRaw(t, wire.port)
          socket.end(Buffer.concat([begin, rest]))
          await drain(socket)
        },
      ),
      { numRuns: 60 },
    )
    await until("all are gone", () => wire.connections === 1)
    assert.equal(wire.pid, pid)
    await connect(cluster.branchId)
  })

  test("bytes sent ahead of the encryption are not taken for encrypted ones", async t => {
    const { wire } = await startWire(t, [cluster])
    const socket = await openRaw(t, wire.port)
    socket.write(Buffer.concat([encodeTlsRequest(), startup(`owner.${cluster.branchId}`)]))
    assert.equal((await drain(socket)).length, 0)
  })

  test("a client that does not say what it wants in time is hung up on, at any point", async t => {
    const { wire } = await startWire(t, [cluster], { limits: { startupTimeoutMs: 200 } })
    const packet = startup(`owner.${cluster.branchId}`)
    for (const bytes of [
      Buffer.alloc(0),
      packet.subarray(0, 3),
      packet.subarray(0, 20),
      encodeTlsRequest(),
    ]) {
      const socket = await openRaw(t, wire.port)
      socket.write(bytes)
      await drain(socket)
    }
  })

  test("a startup packet that comes byte by byte is as good as another", async t => {
    const { wire } = await startWire(t, [cluster])
    const socket = await openRaw(t, wire.port)
    socket.setNoDelay(true)
    const client = readMessages(socket)
    for (const byte of Buffer.concat([startup(`${GUEST}.${cluster.branchId}`), query("select 1")])) {
      socket.write(Buffer.from([byte]))
      await new Promise(setImmediate)
    }
    await client.until("Z")
    assert.equal((await client.until("C")).payload.toString(), "SELECT 1\0")
  })

  test("TLS from the first byte needs the protocol's name, and old versions of TLS are not spoken", async t => {
    const { wire } = await startWire(t, [cluster])
    const open = async (options: object): Promise<boolean> => {
      const socket = connectTls({ host: "127.0.0.1", port: wire.port, rejectUnauthorized: false, ...options })
      socket.on("error", () => undefined)
      const client = readMessages(socket)
      socket.write(startup(`${GUEST}.${cluster.branchId}`))
      const answered = (await client.next()) !== undefined
      socket.destroy()
      return answered
    }
    assert.equal(await open({ ALPNProtocols: ["postgresql"] }), true)
    assert.equal(await open({}), false)
    assert.equal(await open({ ALPNProtocols: ["http/1.1"] }), false)
    const old = { minVersion: "TLSv1.1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" }
    assert.equal(await open({ ALPNProtocols: ["postgresql"], ...old }), false)
  })

  test("encryption by Kerberos is declined, and TLS may be asked for after it", async t => {
    const { wire } = await startWire(t, [cluster])
    const socket = await openRaw(t, wire.port)
    const gss = encodeTlsRequest()
    gss.writeInt32BE(80_877_104, 4)
    socket.write(gss)
    assert.equal((await once(socket, "data"))[0].toString(), "N")
    socket.write(encodeTlsRequest())
    assert.equal((await once(socket, "data"))[0].toString(), "S")
  })

  test("a session whose client sends nonsense after the login ends as its server says", async t => {
    const { wire, activity } = await startWire(t, [cluster])
    const client = await loginRaw(t, { port: wire.port, branchId: cluster.branchId })
    client.socket.write(message("?"))
    assert.equal(fieldsOf(await client.until("E")).C, "08P01")
    await until("it is closed", () => activity.some(({ kind }) => kind === "closed"))
  })
})

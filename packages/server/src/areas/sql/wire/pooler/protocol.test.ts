/** What a pooled connection answers, message by message, is what the server itself answers. */
import assert from "node:assert/strict"
import { after, before, describe, type TestContext, test } from "node:test"
import fc from "fast-check"
import { PASSWORD, startCluster, type TestCluster } from "../testing/cluster.ts"
import { startWire, verifierIn } from "../testing/platform.ts"
import {
  fieldsOf,
  loginByPassword,
  message,
  query,
  type RawClient,
  type RawMessage,
} from "../testing/raw-client.ts"

const int16 = (value: number): Buffer => {
  const bytes = Buffer.alloc(2)
  bytes.writeInt16BE(value)
  return bytes
}
const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}
const zero = (...texts: string[]): Buffer => Buffer.from(texts.map(text => `${text}\0`).join(""))

const parse = (name: string, sql: string) => message("P", Buffer.concat([zero(name, sql), int16(0)]))
/** With no parameters, and results as text. */
const bind = (portal: string, name: string) =>
  message("B", Buffer.concat([zero(portal, name), int16(0), int16(0), int16(0)]))
const describeOf = (kind: "S" | "P", name: string) =>
  message("D", Buffer.concat([Buffer.from(kind), zero(name)]))
const close = (kind: "S" | "P", name: string) => message("C", Buffer.concat([Buffer.from(kind), zero(name)]))
const execute = (portal: string) => message("E", Buffer.concat([zero(portal), int32(0)]))
const sync = message("S")

/** A message without what may differ: names of statements in errors, where in the source an error was raised. */
const seen = (found: RawMessage): string => {
  if (found.type === "E") return `E ${fieldsOf(found).C}`
  if (found.type === "N") return `N ${fieldsOf(found).C}`
  return `${found.type} ${found.payload.toString("latin1")}`
}

/** All answers up to so many ReadyForQuery. */
const answers = async (client: RawClient, batches: number): Promise<string[]> => {
  const found: string[] = []
  for (let ready = 0; ready < batches; ) {
    const next = await client.next()
    if (!next) return [...found, "hung up"]
    if (next.type === "S") continue
    found.push(seen(next))
    if (next.type === "Z") ready += 1
  }
  return found
}

describe("a pooled connection", () => {
  let cluster: TestCluster
  before(async () => {
    cluster = await startCluster(18)
    await cluster.ask("CREATE TABLE numbers AS SELECT generate_series(1, 5) AS n")
    await cluster.ask("GRANT ALL ON numbers TO owner")
  })
  after(() => cluster[Symbol.asyncDispose]())

  const serve = async (t: TestContext) => {
    const { wire } = await startWire(t, [cluster], { verifier: verifierIn([cluster]) })
    const login = (suffix: string) =>
      loginByPassword(t, {
        port: wire.port,
        user: `owner.${cluster.branchId}${suffix}`,
        password: PASSWORD,
      })
    return { direct: () => login(""), pooled: () => login("-pooler") }
  }

  test("answers a COPY in both directions, in both protocols, as the server does", async t => {
    const { direct, pooled } = await serve(t)
    const data = (text: string) => message("d", text)
    const done = message("c")
    const parts: readonly [Buffer, number][] = [
      [query("create temp table copied (n int); copy (select n from numbers order by n) to stdout"), 1],
      [Buffer.concat([query("begin; copy numbers from stdin"), data("6\n7\n"), done]), 1],
      [query("select count(*) from numbers; rollback"), 1],
      [Buffer.concat([query("copy numbers from stdin"), message("f", "no more\0")]), 1],
      [
        Buffer.concat([
          parse("", "copy numbers from stdin"),
          bind("", ""),
          execute(""),
          data("x\n"),
          done,
          sync,
        ]),
        1,
      ],
      // A Sync in the middle of a COPY is not answered.
      [
        Buffer.concat([
          parse("", "copy numbers from stdin"),
          bind("", ""),
          execute(""),
          sync,
          message("f", "\0"),
          sync,
        ]),
        1,
      ],
      [query("select count(*) from numbers"), 1],
    ]
    const [one, other] = [await direct(), await pooled()]
    for (const [bytes, batches] of parts) {
      one.socket.write(bytes)
      other.socket.write(bytes)
      assert.deepEqual(await answers(other, batches), await answers(one, batches))
    }
  })

  test("passes large values both ways, whatever pieces they come in", async t => {
    const { pooled } = await serve(t)
    const client = await pooled()
    const value = Buffer.alloc(3_000_000, "x")
    const bound = Buffer.concat([
      ...[zero("", "big"), int16(0), int16(1), int32(value.length), value, int16(0)],
    ])
    const bytes = Buffer.concat([
      parse("big", "select length($1), $1::text"),
      message("B", bound),
      ...[execute(""), sync],
    ])
    for (let at = 0; at < bytes.length; at += 999_983) client.socket.write(bytes.subarray(at, at + 999_983))
    const row = await client.until("D")
    assert.equal(row.payload.length, 2 + 4 + "3000000".length + 4 + value.length)
    await client.until("Z")
    const long = `select ${"1+".repeat(700_000)}1 as n`
    client.socket.write(Buffer.concat([parse("", long), describeOf("S", ""), sync]))
    assert.match(seen(await client.until("E")), /54001|54000/)
    await client.until("Z")
    client.socket.write(Buffer.concat([parse("named", long), sync]))
    assert.equal(fieldsOf(await client.until("E")).C, "54000")
    assert.equal(await client.next(), undefined)
  })

  test("keeps a client's statement without a name for its next transaction, and nobody else's", async t => {
    const { pooled } = await serve(t)
    const [one, other] = [await pooled(), await pooled()]
    one.socket.write(Buffer.concat([parse("", "select 'mine' as of_one"), describeOf("S", ""), sync]))
    await answers(one, 1)
    const run = Buffer.concat([bind("", ""), execute(""), sync])
    other.socket.write(run)
    assert.deepEqual(await answers(other, 1), ["E 26000", "Z I"])
    other.socket.write(Buffer.concat([parse("", "select 'other'"), bind("", ""), execute(""), sync]))
    await answers(other, 1)
    one.socket.write(run)
    assert.match((await answers(one, 1)).join(), /mine/)
  })

  test("answers any batches as the server does, while others use the same connections", async t => {
    const { direct, pooled } = await serve(t)
    const others = await Promise.all([pooled(), pooled(), pooled()])
    const portal = fc.constantFrom("", "a", "b")
    const name = fc.constantFrom("a", "b", "c")
    const any = fc.constantFrom("", "a", "b", "c")
    const sql = fc.constantFrom(
      ...["select 1 as one", "select n from numbers order by n", "select 1/0", "select nonsense", ""],
      ...["begin", "commit", "rollback", "savepoint s", "select 'ä' as t"],
    )
    // What is prepared behind these and before they are answered would be forgotten with the rest.
    const forgetting = fc.constantFrom("deallocate all", "discard all").map(query)
    const kind = fc.constantFrom("S" as const, "P" as const)
    const extended = fc.oneof(
      fc.tuple(any, sql).map(([to, text]) => parse(to, text)),
      fc.tuple(portal, name).map(([to, from]) => bind(to, from)),
      fc.tuple(kind, name).map(([of, what]) => describeOf(of, what)),
      fc.tuple(kind, name).map(([of, what]) => close(of, what)),
      portal.map(execute),
      fc
        .tuple(portal, any, sql)
        .map(([at, to, text]) =>
          Buffer.concat([parse(to, text), bind(at, to), describeOf("P", at), execute(at)]),
        ),
      fc.tuple(portal, name).map(([at, from]) => Buffer.concat([bind(at, from), execute(at)])),
    )
    const whole = fc
      .tuple(portal, sql)
      .map(([at, text]) => Buffer.concat([parse("", text), bind(at, ""), describeOf("P", at), execute(at)]))
    const batchOf = (part: fc.Arbitrary<Buffer>) =>
      fc.oneof(
        fc.array(part, { maxLength: 6 }).map(parts => Buffer.concat([...parts, sync])),
        sql.map(query),
      )
    // A pipeline does not use names: the pooler takes what is skipped behind an error for done until it hears of that.
    const pipeline = fc.record({
      batches: fc.array(batchOf(whole), { minLength: 1, maxLength: 6 }),
      pipelined: fc.constant(true),
    })
    const dialogue = fc.record({
      batches: fc.array(fc.oneof({ weight: 9, arbitrary: batchOf(extended) }, forgetting), {
        minLength: 1,
        maxLength: 8,
      }),
      pipelined: fc.constant(false),
    })
    const part = fc.double({ min: 0, max: 1, noNaN: true })
    /** In two pieces, which part a message more often than not. */
    const writeParted = async ({ socket }: RawClient, bytes: Buffer, part: number) => {
      const cut = Math.floor(bytes.length * part)
      socket.write(bytes.subarray(0, cut))
      await new Promise(setImmediate)
      socket.write(bytes.subarray(cut))
    }
    let turn = 0
    const disturb = () => {
      // Another client takes a connection and uses the same names there.
      const other = others[turn++ % others.length]
      other?.socket.write(query(turn % 2 === 0 ? "begin; select 1" : "commit"))
      return other?.until("Z")
    }
    await fc.assert(
      fc.asyncProperty(fc.oneof(pipeline, dialogue), part, async ({ batches, pipelined }, at) => {
        const [one, other] = [await direct(), await pooled()]
        try {
          if (pipelined) {
            for (const client of [one, other]) await writeParted(client, Buffer.concat(batches), at)
            assert.deepEqual(await answers(other, batches.length), await answers(one, batches.length))
            return
          }
          for (const bytes of batches) {
            for (const client of [one, other]) await writeParted(client, bytes, at)
            assert.deepEqual(await answers(other, 1), await answers(one, 1))
            await disturb()
          }
        } finally {
          one.socket.destroy()
          other.socket.destroy()
        }
      }),
      { numRuns: Number(process.env.SVC_TEST_RUNS ?? 60) },
    )
  })
})

/** What private networks refuse and remember, with no packet sent. */
import assert from "node:assert/strict"
import { createSocket } from "node:dgram"
import { once } from "node:events"
import { type TestContext, test } from "node:test"
import type { SvcError } from "@svc/sdk"
import { everyScope, platform } from "../../testing/platform.ts"
import { whyNot } from "./testing/engine.ts"
import { oldNetwork } from "./testing/samples.ts"
import { generateKeyPair } from "./wireguard/keys.ts"

const worldOf = async (t: TestContext, env: Readonly<Record<string, string>> = {}) => {
  const p = await platform(t, { env })
  return { p, svc: await p.client("acme", ...everyScope) }
}

const refusal = (attempt: Promise<unknown>): Promise<SvcError> =>
  attempt.then(
    () => assert.fail("it was accepted"),
    error => error as SvcError,
  )

test("without an engine a network is refused with what is missing, and what is wrong is still said first", async t => {
  const { p, svc } = await worldOf(t, { SVC_VPC: "off" })
  const none = await refusal(svc.vpc.create({ name: "office" }))
  assert.deepEqual([none.status, none.code], [501, "vpc_unavailable"])
  assert.match(none.message, /SVC_VPC/)
  const wrong = await refusal(svc.vpc.create({ name: "office", cidr: "8.8.8.0/24" }))
  assert.deepEqual([wrong.status, wrong.code], [400, "invalid_parameter"])
  const old = await oldNetwork({ platform: p, tenant: "acme" })
  assert.equal((await svc.vpc.get({ id: old.id })).status, "unavailable")
  const refused = await refusal(svc.vpc.addPeer({ id: old.id, name: "phone" }))
  assert.deepEqual([refused.status, refused.code], [501, "vpc_unavailable"])
  await svc.vpc.removePeer(old)
  await svc.vpc.delete({ id: old.id })
  const response = await svc.request("vpc.list", {})
  assert.deepEqual([response.status, response.data.total], [200, 0])
})

test("a range is private, whole, of a fair size, and nobody else's", { skip: whyNot }, async t => {
  const { svc } = await worldOf(t)
  const first = await svc.vpc.create({ name: "first", cidr: "10.20.0.0/22", mtu: 1380 })
  assert.deepEqual([first.status, first.gateway, first.mtu], ["active", "10.20.0.1", 1380])
  const refused: readonly (readonly [string, RegExp])[] = [
    ["10.20.3.0/24", /another network/],
    ["10.128.7.0/24", /this installation uses/],
    ["11.0.0.0/24", /must be in/],
    ["10.0.0.0/8", /from \/16/],
    ["10.30.0.0/30", /from \/16/],
    ["10.30.0.1/24", /CIDR/],
    ["10.030.0.0/24", /CIDR/],
    ["10.30.0.256/24", /CIDR/],
    ["fd00::/64 ;reboot", /CIDR/],
  ]
  for (const [cidr, text] of refused) {
    const { status, message } = await refusal(svc.vpc.create({ name: "second", cidr }))
    assert.equal(status, 400, cidr)
    assert.match(message, text, cidr)
  }
  const free = await svc.vpc.create({ name: "second" })
  assert.match(free.cidr, /^10\.\d+\.\d+\.0\/24$/)
  assert.notEqual(free.listen_port, first.listen_port)
})

test("a peer takes what is free alone, and reaches nothing that is not public", { skip: whyNot }, async t => {
  const { svc } = await worldOf(t)
  const { id } = await svc.vpc.create({ name: "office", cidr: "10.21.0.0/29" })
  const { publicKey } = generateKeyPair()
  const own = await svc.vpc.addPeer({
    id,
    name: "own key",
    public_key: publicKey,
    allowed_ips: ["10.21.0.5"],
  })
  assert.deepEqual([own.address, own.allowed_ips, "private_key" in own], ["10.21.0.5", [], false])
  const site = await svc.vpc.addPeer({ id, name: "site", allowed_ips: ["192.168.40.0/24"] })
  assert.deepEqual([site.address, site.allowed_ips], ["10.21.0.2", ["192.168.40.0/24"]])

  const key = { name: "other" }
  const refused: readonly Record<string, unknown>[] = [
    { ...key, public_key: publicKey },
    { ...key, public_key: `${"A".repeat(43)}=` },
    { ...key, public_key: `${"!".repeat(43)}=` },
    { ...key, allowed_ips: ["10.21.0.5/32"] },
    { ...key, allowed_ips: ["10.21.0.1"] },
    { ...key, allowed_ips: ["10.21.0.0/24"] },
    { ...key, allowed_ips: ["192.168.40.128/25"] },
    { ...key, allowed_ips: ["0.0.0.0/0"] },
    { ...key, endpoint: "127.0.0.1:53" },
    { ...key, endpoint: "169.254.169.254:80" },
    { ...key, endpoint: "nowhere.invalid:51820" },
    { ...key, dns_servers: ["1.1.1.999"] },
    { ...key, expires_at: "2020-01-01T00:00:00Z" },
  ]
  for (const input of refused)
    assert.equal(
      (await refusal(svc.vpc.addPeer({ id, ...input } as never))).status,
      400,
      JSON.stringify(input),
    )

  const rest = ["10.21.0.3", "10.21.0.4", "10.21.0.6"]
  const taken = await Promise.all(rest.map((_, at) => svc.vpc.addPeer({ id, name: `peer ${at}` })))
  assert.deepEqual(taken.map(({ address }) => address).sort(), rest)
  assert.match((await refusal(svc.vpc.addPeer({ id, name: "too many" }))).message, /no free address/)
  assert.equal((await svc.vpc.get({ id })).peer_count, 5)
})

test("a private key is shown once, and once more by its token", { skip: whyNot }, async t => {
  const { p, svc } = await worldOf(t, { SVC_VPC_ENDPOINT: "vpn.example.com" })
  const network = await svc.vpc.create({
    name: "Main office",
    dns_servers: ["10.22.0.9"],
    cidr: "10.22.0.0/24",
  })
  const { id } = network
  const peer = await svc.vpc.addPeer({ id, name: "laptop" })
  assert.ok(peer.private_key && peer.config_token)
  const named = { id, peer_id: peer.id }

  const without = await svc.vpc.config(named)
  assert.deepEqual([without.has_private_key, without.filename], [false, "main-office.conf"])
  assert.doesNotMatch(without.config, new RegExp(peer.private_key.replaceAll(/[+/]/g, "\\$&")))
  const wrong = await refusal(svc.vpc.config({ ...named, config_token: `${peer.config_token}x` }))
  assert.deepEqual([wrong.status, wrong.code], [400, "token_invalid_or_expired"])

  const [one, two] = await Promise.allSettled([
    svc.vpc.config({ ...named, config_token: peer.config_token }),
    svc.vpc.config({ ...named, config_token: peer.config_token }),
  ])
  const given = [one, two].filter(result => result.status === "fulfilled")
  assert.equal(given.length, 1)
  const { config, has_private_key } = (given[0] as PromiseFulfilledResult<typeof without>).value
  assert.equal(has_private_key, true)
  assert.equal(
    config,
    [
      "# laptop in Main office",
      "[Interface]",
      `PrivateKey = ${peer.private_key}`,
      "Address = 10.22.0.2/32",
      "DNS = 10.22.0.9",
      "MTU = 1420",
      "",
      "[Peer]",
      `PublicKey = ${network.public_key}`,
      `Endpoint = vpn.example.com:${network.listen_port}`,
      "AllowedIPs = 10.22.0.0/24",
      "PersistentKeepalive = 25",
      "",
    ].join("\n"),
  )

  const late = await svc.vpc.addPeer({ id, name: "phone" })
  await p.clock.advance(10 * 60_000 + 5_000)
  const expired = { id, peer_id: late.id, config_token: late.config_token ?? "" }
  assert.equal((await refusal(svc.vpc.config(expired))).code, "token_invalid_or_expired")
  const { private_key } = await p.database.db
    .selectFrom("vpc.peers")
    .select("private_key")
    .where("id", "=", late.id)
    .executeTakeFirstOrThrow()
  assert.equal(private_key, null)
})

test("where no UDP port is left a network is refused, and leaves nothing", { skip: whyNot }, async t => {
  const socket = createSocket("udp4")
  socket.bind(0)
  await once(socket, "listening")
  t.after(() => void socket.close())
  const { svc } = await worldOf(t, { SVC_VPC_PORTS: String(socket.address().port) })
  const refused = await refusal(svc.vpc.create({ name: "office" }))
  assert.deepEqual([refused.status, refused.code], [503, "service_unavailable"])
  assert.equal((await svc.vpc.list({})).total, 0)
})

test("where the gateway cannot be changed a peer is refused, and is not added", { skip: whyNot }, async t => {
  const { p, svc } = await worldOf(t)
  const { id } = await svc.vpc.create({ name: "office" })
  await p.database.db
    .updateTable("vpc.networks")
    .set({ private_key: "damaged" })
    .where("id", "=", id)
    .execute()
  const refused = await refusal(svc.vpc.addPeer({ id, name: "laptop" }))
  assert.deepEqual([refused.status, refused.code], [503, "service_unavailable"])
  const { status, peer_count } = await svc.vpc.get({ id })
  assert.deepEqual([status, peer_count], ["error", 0])
})

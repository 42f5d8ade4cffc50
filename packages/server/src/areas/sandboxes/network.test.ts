/** What sandboxes and computers are told and given where workloads have a network. */
import assert from "node:assert/strict"
import { test } from "node:test"
import type { Svc } from "@svc/sdk"
import { withoutNetworks } from "../../ports/runtime/testing/lab.ts"
import { startDns } from "../../testing/dns.ts"
import { platform } from "../../testing/platform.ts"
import { refusedAs, SANDBOX_SCOPES, SMALL } from "./testing/sandboxes.ts"

const skip = await withoutNetworks()

/** Asks for a name's address, and says that or `nothing`. */
const LOOK_UP = `perl -e 'use Socket; my @a = gethostbyname shift; print @a ? inet_ntoa($a[4]) : "nothing"'`
const OWN_ADDRESS = `perl -e 'use Socket; socket my $s, 2, 2, 17; connect $s, sockaddr_in(9, inet_aton("93.184.216.34"));
  print inet_ntoa((sockaddr_in(getsockname $s))[1])'`

const say = async (svc: Svc, id: string, command: string) =>
  (await svc.sandboxes.runCommand({ id, command })).stdout

test("workloads have a network where the machine can filter it, and computers their own address", {
  skip,
}, async t => {
  const dns = await startDns(t)
  dns.answer("example.com", [{ type: "A", data: "93.184.216.34" }])
  dns.answer("other.test", [{ type: "A", data: "93.184.216.35" }])
  dns.answer("inside.test", [{ type: "A", data: "10.0.0.1" }])
  const p = await platform(t, {
    env: { SVC_WORKLOAD_NETWORK: "filtered", SVC_DNS_SERVERS: dns.address },
  })
  const svc = await p.client("acme", ...SANDBOX_SCOPES, "computers:read", "computers:write", "computers:exec")

  const open = await svc.sandboxes.create(SMALL)
  assert.equal(open.network.mode, "allow_all")
  assert.equal(await say(svc, open.id, `${LOOK_UP} example.com`), "93.184.216.34")
  assert.equal(await say(svc, open.id, `${LOOK_UP} inside.test`), "nothing")
  const metrics = await svc.sandboxes.metrics({ id: open.id })
  assert.ok((metrics.network_sent_bytes ?? 0) > 0 && (metrics.network_received_bytes ?? 0) > 0)

  const network = { mode: "custom" as const, allow: ["example.com", "1.2.3.0/24"] }
  const custom = await svc.sandboxes.create({ ...SMALL, network })
  assert.deepEqual(custom.network, { ...network, deny: [] })
  assert.equal(await say(svc, custom.id, `${LOOK_UP} example.com`), "93.184.216.34")
  assert.equal(await say(svc, custom.id, `${LOOK_UP} other.test`), "nothing")
  await assert.rejects(
    svc.sandboxes.create({ network: { mode: "custom", allow: ["1.2.3.4/64"] } }),
    refusedAs("invalid_parameter", 400),
  )

  const closed = await svc.sandboxes.create({ ...SMALL, network: { mode: "deny_all" } })
  assert.equal(await say(svc, closed.id, `${LOOK_UP} example.com`), "nothing")
  assert.equal((await svc.sandboxes.metrics({ id: closed.id })).network_sent_bytes, null)

  const computer = await svc.computers.create({ name: "box", memory_mb: 256, vcpus: 0.5, disk_gb: 1 })
  const { id } = computer
  const ownAddress = async () => (await svc.computers.exec({ id, command: OWN_ADDRESS })).stdout
  const before = await ownAddress()
  await svc.computers.stop({ id })
  await svc.computers.start({ id })
  assert.equal(await ownAddress(), before)
})

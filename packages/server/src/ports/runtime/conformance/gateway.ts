import assert from "node:assert/strict"
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { eventually } from "../../../testing/eventually.ts"
import { programIn } from "../drivers/process/host.ts"
import { type Link, openNetwork, type WorkloadNetwork } from "../network/network.ts"
import { internet } from "../testing/lab.ts"
import { gatewayDevices } from "./network.ts"

const [first] = internet.servers
const { port } = internet

const gatewayOf = ({ words }: Link): number => Number(/\/proc\/(\d+)\/ns/.exec(words.toString("latin1"))?.[1])

const open = async (): Promise<WorkloadNetwork> => {
  const [perl = "", nft = ""] = await Promise.all(["perl", "nft"].map(programIn))
  return await openNetwork({ perl, nft, nameServers: [], log: () => undefined })
}

const opened = async (t: TestContext): Promise<WorkloadNetwork> => {
  const network = await open()
  t.after(() => network[Symbol.asyncDispose]())
  return network
}

/** A workload whose root may do anything to its network, as one with a kernel of its own may. */
const machineIn = async (t: TestContext, network: WorkloadNetwork, address: string) => {
  const link: Link = await network.take({ mode: "filtered", allow: null, deny: [], address })
  const child: ChildProcess = spawn("unshare", ["--net", "sh", "-c", "echo up; exec sleep 1000"], {
    stdio: ["ignore", "pipe", "inherit"],
  })
  t.after(async () => {
    child.kill("SIGKILL")
    await link[Symbol.asyncDispose]()
  })
  assert.ok(child.stdout && child.pid)
  await once(child.stdout, "data")
  const { pid } = child
  await link.joinProcess(pid)
  const shell = (script: string): string =>
    String(execFileSync("nsenter", ["--target", String(pid), "--net", "sh", "-c", script], { stdio: "pipe" }))
  /** Says something to a server from an address, and gives what it says; waits long for who should answer. */
  const say = (what: string, from: string, to: string = first, seconds = 60): string =>
    shell(`perl -e 'use IO::Socket::INET; my $s = IO::Socket::INET->new(LocalAddr => "${from}", PeerAddr => "${to}",
      PeerPort => ${port}, Proto => "udp") or exit; send $s, "${what}", 0; my $r = ""; vec($r, fileno $s, 1) = 1; my $b = "";
      select($r, undef, undef, ${seconds}) and sysread $s, $b, 99; print $b'`)
  return { link, shell, say, pid }
}

const rightsTests = (): void => {
  test("who is root over its own network speaks for nobody else, and to no neighbour", async t => {
    const network = await opened(t)
    const [own, other] = await Promise.all(
      ["10.70.0.1", "10.70.0.2"].map(address => machineIn(t, network, address)),
    )
    assert.ok(own && other)
    const tag = randomUUID()
    assert.equal(own.say(`${tag} own`, "10.70.0.1"), `${tag} own`)
    for (const address of ["10.70.0.2", "10.128.0.1", "1.2.3.4", "169.254.1.1", "81.2.69.2"]) {
      own.shell(`ip address add ${address}/32 dev eth0`)
      assert.equal(own.say(`${tag} ${address}`, address, first, 0.1), "")
      assert.equal(own.say(`?${tag} ${address}`, "10.70.0.1"), "false", address)
      own.shell(`ip address del ${address}/32 dev eth0`)
    }
    const before = await other.link.stats()
    own.shell(
      "ip route add 10.70.0.2/32 dev eth0; ip neighbour replace 10.70.0.2 lladdr 02:00:00:00:00:01 dev eth0",
    )
    assert.equal(own.say("to a neighbour", "10.70.0.1", "10.70.0.2", 0.1), "")
    assert.deepEqual(await other.link.stats(), before)
    assert.equal(other.say(`${tag} other`, "10.70.0.2"), `${tag} other`)
  })

  test("nobody answers to IPv6, whatever a workload turns on", async t => {
    const network = await opened(t)
    const { link, shell } = await machineIn(t, network, "10.70.0.1")
    const settings = "/proc/sys/net/ipv6/conf/eth0/disable_ipv6"
    shell(`test ! -e ${settings} || { echo 0 >${settings} && ip address add fd00::5/64 dev eth0; }`)
    assert.equal(await readFile(`/proc/${gatewayOf(link)}/net/if_inet6`, "utf8").catch(() => ""), "")
  })

  test("connections of who had an address before are not those of who has it next", async t => {
    const network = await opened(t)
    const count = async (pid: number) => {
      const table = await readFile(`/proc/${pid}/net/nf_conntrack`, "utf8").catch(() => undefined)
      return table?.split("\n").filter(line => line.includes("src=10.70.0.1 ")).length
    }
    const { link, say } = await machineIn(t, network, "10.70.0.1")
    assert.equal(say("before", "10.70.0.1"), "before")
    const gateway = gatewayOf(link)
    assert.notEqual(await count(gateway), 0)
    await link[Symbol.asyncDispose]()
    assert.ok([0, undefined].includes(await count(gateway)))
  })
}

const lifeTests = (): void => {
  test("a machine that forwarded nothing forwards for workloads alone, and nothing when they are gone", async () => {
    const setting = "/proc/sys/net/ipv4/conf/near/forwarding"
    await writeFile(setting, "0")
    const network = await open()
    assert.equal(await readFile(setting, "utf8"), "1\n")
    assert.match(String(execFileSync("nft", ["list", "ruleset"])), /iifname "near" drop/)
    await network[Symbol.asyncDispose]()
    assert.equal(await readFile(setting, "utf8"), "0\n")
  })

  test("a gateway that dies is followed by another one", async t => {
    const network = await opened(t)
    const { link } = await machineIn(t, network, "10.70.0.1")
    process.kill(gatewayOf(link), "SIGKILL")
    await eventually("the device is gone", async () => (await gatewayDevices()).length === 0)
    const policy = { mode: "filtered", allow: [], deny: [] } as const
    await eventually("there is another one", () =>
      network.take(policy).then(
        () => true,
        () => false,
      ),
    )
    const [one, two] = await Promise.all(
      ["10.70.0.1", "10.70.0.3"].map(address => machineIn(t, network, address)),
    )
    assert.ok(one && two)
    assert.equal(one.say("one", "10.70.0.1"), "one")
    assert.equal(two.say("two", "10.70.0.3"), "two")
    assert.equal((await gatewayDevices()).length, 1)
  })

  test("kill -9 of the platform leaves no device, rule or process", async t => {
    const dataDir = await mkdtemp(join(tmpdir(), "svc-network-"))
    t.after(() => rm(dataDir, { recursive: true, force: true }))
    const place = (path: string) => JSON.stringify(new URL(path, import.meta.url).href)
    const program = `const { openProcessRuntime } = await import(${place("../drivers/process/driver.ts")})
      const { specOf } = await import(${place("fixture.ts")})
      const network = { mode: "filtered", nameServers: [] }
      const runtime = await openProcessRuntime({ dataDir: ${JSON.stringify(dataDir)}, log() {}, network })
      await runtime.start(specOf({ network: { mode: "filtered", allow: ["1.2.3.4/32"], deny: [] } }))
      console.log("up")`
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
      stdio: ["ignore", "pipe", "inherit"],
    })
    t.after(() => child.kill("SIGKILL"))
    await once(child.stdout, "data")
    assert.equal((await gatewayDevices()).length, 1)
    assert.match(String(execFileSync("nft", ["list", "tables"])), /svc/)
    const ended = once(child, "exit")
    child.kill("SIGKILL")
    await ended
    await eventually("the device is gone", async () => (await gatewayDevices()).length === 0)
    await eventually("the rules are gone", () => String(execFileSync("nft", ["list", "tables"])) === "")
  })
}

/** Of the gateway itself, in the lab of `testing/lab.ts`. */
export const gatewayTests = (): void => {
  rightsTests()
  lifeTests()
}

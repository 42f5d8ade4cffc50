import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { SPECIAL_IPV4 } from "../../../../kernel/outbound/addresses.ts"
import { parseKubeconfig } from "../../../kubernetes/place.ts"
import { rejectsAs, specOf } from "../../conformance/fixture.ts"
import { programIn } from "../process/host.ts"
import { isolationOf } from "./driver.ts"
import { claimOf, configMapOf, type PodOptions, podOf } from "./manifests.ts"
import { denyAll, egressOf, workloadPolicy } from "./policies.ts"
import { readScripts } from "./scripts.ts"

const options: PodOptions = {
  ...{ instance: "0123456789", image: "debian", scripts: "svc-0123456789-agent-0", hasOwnUsers: true },
  runtimeClass: "gvisor",
}
const rights = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "NET_BIND_SERVICE"]

test("a Pod has no rights, names or volumes of its node or cluster, and its limits are those of its workload", () => {
  const pod = podOf(options, specOf({ vcpus: 0.5, memoryBytes: 2 ** 26 })).spec
  const { initContainers, containers, volumes, ...rest } = pod
  assert.deepEqual(rest, {
    ...{ hostname: "box", restartPolicy: "Never", terminationGracePeriodSeconds: 1 },
    ...{ automountServiceAccountToken: false, enableServiceLinks: false, shareProcessNamespace: false },
    ...{ hostNetwork: false, hostPID: false, hostIPC: false, hostUsers: false, runtimeClassName: "gvisor" },
    securityContext: { runAsUser: 0, seccompProfile: { type: "RuntimeDefault" } },
  })
  for (const { name, securityContext, volumeMounts, resources } of [...initContainers, ...containers]) {
    assert.deepEqual(securityContext, {
      ...{ allowPrivilegeEscalation: false, privileged: false, readOnlyRootFilesystem: true },
      ...{ runAsUser: 0, runAsGroup: 0 },
      capabilities: { drop: ["ALL"], ...(name !== "sidecar" && { add: rights }) },
    })
    assert.ok(volumeMounts.every(mount => mount.name !== "agent" || "readOnly" in mount))
    assert.ok(resources.limits.memory && resources.limits.cpu && resources.limits["ephemeral-storage"])
  }
  assert.deepEqual(containers[0]?.resources.limits, {
    ...{ cpu: "500m", memory: String(2 ** 26), "ephemeral-storage": String(2 ** 26) },
  })
  const kinds = volumes.flatMap(({ name: _, ...volume }) => Object.keys(volume))
  assert.deepEqual(kinds, ["configMap", "emptyDir", "emptyDir"])
})

test("what a setting leaves out a Pod does not say, and a profile of the nodes takes the place of the usual one", () => {
  const plain = podOf({ ...options, hasOwnUsers: false, runtimeClass: undefined }, specOf()).spec
  assert.ok(!("hostUsers" in plain) && !("runtimeClassName" in plain))
  const { securityContext } = podOf({ ...options, seccompProfile: "svc.json" }, specOf()).spec
  assert.deepEqual(securityContext.seccompProfile, { type: "Localhost", localhostProfile: "svc.json" })
  const claim = claimOf(
    { ...options, storageClass: "fast" },
    specOf({ disk: { kind: "persistent", bytes: 5 } }),
  )
  assert.deepEqual(claim.spec, {
    ...{ accessModes: ["ReadWriteOnce"], storageClassName: "fast" },
    resources: { requests: { storage: "5" } },
  })
})

test("the scripts fit into a ConfigMap that nobody changes, and another version is another one", async () => {
  const scripts = await readScripts("svc-0123456789")
  assert.match(scripts.name, /^svc-0123456789-agent-[0-9a-f]{16}$/)
  assert.ok(JSON.stringify(scripts.data).length < 2 ** 19)
  assert.equal(configMapOf("0123456789", scripts).immutable, true)
})

const block = (cidr: string, ...except: readonly string[]) => ({
  ipBlock: { cidr, ...(except.length > 0 && { except }) },
})

test("egress is what the policy allows of what is public, and names only where there is no list", () => {
  const filtered = (allow: readonly string[] | null, deny: readonly string[] = []) =>
    egressOf({ mode: "filtered", allow, deny }) as readonly { readonly to: readonly object[] }[]
  const table: readonly (readonly [readonly string[], readonly string[], readonly object[]])[] = [
    [["1.2.3.0/24"], [], [block("1.2.3.0/24")]],
    [["1.2.3.0/24"], ["1.2.3.7/32", "9.9.9.9/32"], [block("1.2.3.0/24", "1.2.3.7/32")]],
    [["1.2.3.0/24"], ["1.2.0.0/16"], []],
    [["10.1.0.0/16", "169.254.169.254/32"], [], []],
    [["192.0.0.0/23"], [], [block("192.0.0.0/23", "192.0.0.0/24")]],
    [["1.0.0.0/8"], ["1.2.0.0/16", "1.2.3.0/24", "1.2.0.0/16"], [block("1.0.0.0/8", "1.2.0.0/16")]],
    [["::/0"], [], []],
    [[], [], []],
  ]
  for (const [allow, deny, to] of table)
    assert.deepEqual(filtered(allow, deny), to.length > 0 ? [{ to }] : [], allow.join())
  const [all, names] = filtered(null, ["8.8.8.8/32"])
  assert.deepEqual(all?.to, [block("0.0.0.0/0", ...SPECIAL_IPV4, "8.8.8.8/32")])
  assert.match(JSON.stringify(names), /kube-dns.*"port":53/)
  assert.deepEqual(egressOf({ mode: "none" }), [])
})

test("domains are refused, for the cluster could not tell them apart", async () => {
  const policy = { mode: "filtered", allow: ["example.com", "1.2.3.4/32"], deny: [] } as const
  await rejectsAs("refused", async () => egressOf(policy))
})

test("all is denied to every Pod of the platform both ways, and a workload's policy is about its Pod alone", () => {
  const all = denyAll("0123456789").spec
  assert.deepEqual(all, {
    podSelector: { matchLabels: { "svc.instance": "0123456789" } },
    policyTypes: ["Ingress", "Egress"],
  })
  const { spec, metadata } = workloadPolicy("0123456789", "id", [{ to: [] }])
  assert.deepEqual(spec, {
    podSelector: { matchLabels: { "svc.instance": "0123456789", "svc.workload": "id" } },
    ...{ policyTypes: ["Egress"], egress: [{ to: [] }] },
  })
  assert.equal(metadata.name, "svc-0123456789-id")
})

test("the isolation is what the RuntimeClass' handler is known for", () => {
  const table = {
    ...{ runsc: "gvisor", "runsc-kvm": "gvisor", gvisor: "gvisor", kata: "microvm", "kata-qemu": "microvm" },
    ...{ "kata-clh": "microvm", runc: "container", crun: "container", "my-kata": "container" },
  }
  for (const [handler, isolation] of Object.entries(table))
    assert.equal(isolationOf(handler), isolation, handler)
  assert.equal(isolationOf(undefined), "container")
})

test("a kubeconfig says where the cluster is, and one that would need a program or trusts anybody is refused", () => {
  const encoded = (text: string) => Buffer.from(text).toString("base64")
  const config = (cluster: object, user: object) =>
    JSON.stringify({
      "current-context": "a",
      contexts: [{ name: "a", context: { cluster: "b", user: "c" } }],
      clusters: [{ name: "b", cluster: { server: "https://k:6443", ...cluster } }],
      users: [{ name: "c", user }],
    })
  const place = parseKubeconfig(
    "/k",
    config(
      { "certificate-authority-data": encoded("CA") },
      { "client-certificate-data": encoded("CERT"), "client-key-data": encoded("KEY") },
    ),
  )
  const { apiUrl, namespace, ca, cert, key } = place
  assert.deepEqual([apiUrl, namespace, ca, cert, key], ["https://k:6443", "default", "CA", "CERT", "KEY"])
  const yaml = `current-context: a
contexts: [{ name: a, context: { cluster: b, user: c, namespace: d } }]
clusters: [{ name: b, cluster: { server: "https://k:6443", certificate-authority: ca.crt } }]
users:
  - name: c
    user: { token: t }
`
  const { caFile, token, namespace: named } = parseKubeconfig("/etc/k/config", yaml)
  assert.deepEqual([caFile, token, named], ["/etc/k/ca.crt", "t", "d"])
  const refused: readonly (readonly [string, RegExp])[] = [
    ["a: b: c", /is no YAML/],
    ["apiVersion: v1", /no current context/],
    [config({}, { "client-certificate": "/nonexistent" }), /cannot be read/],
    ["{}", /no current context/],
    [config({}, { exec: { command: "aws" } }), /are not run/],
    [config({ "insecure-skip-tls-verify": true }, { token: "t" }), /whom to trust/],
  ]
  for (const [text, message] of refused)
    assert.throws(() => parseKubeconfig("/k", text), { kind: "refused", message })
})

const perl = await programIn("perl")

test("an agent that hears nothing of its platform for too long ends, though its stream is open", {
  skip: perl === undefined && "perl is missing",
}, async t => {
  const agent = fileURLToPath(new URL("../../agent/agent.pl", import.meta.url))
  const program = `require "${agent}"; $SIG{ALRM} = sub { Kernel::leave(7) };
    $Agent::patience = 1; alarm 1; Agent::run()`
  const child = spawn(perl ?? "", ["-e", program], { stdio: ["pipe", "ignore", "ignore"] })
  t.after(() => child.kill("SIGKILL"))
  assert.deepEqual(await once(child, "exit"), [7, null])
})

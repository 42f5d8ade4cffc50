/** Valid inputs of the operations of private networks, for the tests that hold for every operation. */
import { newId } from "../../../kernel/id.ts"
import { uniqueName } from "../../../testing/platform.ts"
import { type Sample, type SampleWorld, shared } from "../../../testing/sample-world.ts"
import { vpcStore } from "../store.ts"
import { generateKeyPair } from "../wireguard/keys.ts"
import { engineHere } from "./engine.ts"

/** Where nothing runs them there are still records of when something did. */
export const oldNetwork = async ({ platform, tenant }: Pick<SampleWorld, "platform" | "tenant">) => {
  const { organizationId: organization_id, projectId: project_id } = await platform.tenant(tenant)
  const id = newId()
  const now = new Date(platform.clock.now())
  const store = vpcStore(platform.database.db)
  await store.insert({
    ...{ id, organization_id, project_id, host_id: newId(), name: uniqueName(), description: "" },
    ...{ cidr: "10.20.30.0/24", dns_servers: [], mtu: 1420, region: "local", listen_port: 51_820 },
    ...{ public_key: generateKeyPair().publicKey, private_key: "", created_at: now, updated_at: now },
  })
  const peer_id = newId()
  await store.insertPeer({
    ...{ id: peer_id, organization_id, network_id: id, name: "laptop", address: "10.20.30.2" },
    ...{ public_key: generateKeyPair().publicKey, allowed_ips: [], endpoint: null, enabled: true },
    ...{ persistent_keepalive_seconds: 25, dns_servers: [], expires_at: null, created_at: now },
    ...{ private_key: null, config_token_hash: null, config_token_until: null },
  })
  return { id, peer_id }
}

const newNetwork = async (world: SampleWorld) => {
  if (!engineHere) return oldNetwork(world)
  const { id } = await world.key.vpc.create({ name: uniqueName() })
  const { id: peer_id } = await world.key.vpc.addPeer({ id, name: "laptop" })
  return { id, peer_id }
}

const sharedNetwork = shared(newNetwork)
const onlyId = async (world: SampleWorld) => ({ id: (await sharedNetwork(world)).id })

const running: Readonly<Record<string, Sample>> = {
  "vpc.create": async () => ({ name: uniqueName() }),
  "vpc.addPeer": async world => ({ ...(await onlyId(world)), name: "server" }),
  "vpc.removePeer": async world => {
    const { id } = await sharedNetwork(world)
    const { id: peer_id } = await world.key.vpc.addPeer({ id, name: "phone" })
    return { id, peer_id }
  },
}

export const samples: Readonly<Record<string, Sample>> = {
  "vpc.get": onlyId,
  "vpc.delete": async world => ({ id: (await newNetwork(world)).id }),
  "vpc.config": onlyId,
  "vpc.listPeers": onlyId,
  "vpc.removePeer": newNetwork,
  ...(engineHere ? running : {}),
}

const REASON = "takes WireGuard, which this machine lacks; areas/vpc/vpc.test.ts has it"
export const unsampled: Readonly<Record<string, string>> = engineHere
  ? {}
  : { "vpc.create": REASON, "vpc.addPeer": REASON }

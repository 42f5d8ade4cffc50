import {
  areas,
  type Input,
  page,
  pageOf,
  VPC_CONFIG_TOKEN_MINUTES,
  VPC_KEEPALIVE_DEFAULT,
  VPC_MTU_DEFAULT,
  VPC_PEERS_MAX,
  VPCS_MAX,
} from "@svc/contract"
import { newToken, tokenHash } from "../../core/accounts/token.ts"
import type { SecretBox } from "../../core/secrets/secret-box.ts"
import type { Call } from "../../kernel/call.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import type { Database, Db } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import { implement } from "../../kernel/implement.ts"
import { requireRow } from "../../kernel/require-row.ts"
import { type Range, rangesOf, rangeText } from "./addresses.ts"
import { type Keeper, TOPIC } from "./keeper.ts"
import { clientConfigOf, fileNameOf, type NetworkState, toPeer, toVpc } from "./payloads.ts"
import { freePort } from "./ports.ts"
import { checkDnsServers, checkEndpoint, chooseRange, placePeer } from "./rules.ts"
import { keyContext, peerKeyContext } from "./sealing.ts"
import type { PortRange } from "./settings.ts"
import { hostStore, type NetworkRow, type PeerRow, vpcStore } from "./store.ts"
import { generateKeyPair, isPublicKey } from "./wireguard/keys.ts"

type Specs = typeof areas.vpc.specs
type NewPeer = Omit<Input<Specs["addPeer"]>, "id">

export interface VpcHandlerNeeds {
  readonly database: Database
  readonly changes: Changes
  readonly box: SecretBox
  readonly hostId: string
  readonly endpointHost: string
  readonly portRange: PortRange
  readonly urlProblem: (url: string) => string | undefined
  /** Undefined where this installation runs no private networks. */
  readonly keeper: Keeper | undefined
  /** What is missing then. */
  readonly reason: string
}

const TOKEN_PREFIX = "svc_vpn_"
const TOKEN_MS = VPC_CONFIG_TOKEN_MINUTES * 60_000

const target = ({ id, name }: { readonly id: string; readonly name: string }) => ({ type: "vpc", id, name })
const peerTarget = ({ id, name }: PeerRow) => ({ type: "vpc_peer", id, name })

const peersOf = (call: Call, networkId: string) => ({ organizationId: call.organization.id, networkId })

const findVpc = (call: Call, id: string) =>
  requireRow(vpcStore(call.db).find(call.projectTenant, id), "vpc_not_found", { id })

const checkExpiry = (given: string | undefined, now: Date): Date | null => {
  if (given === undefined) return null
  const expiresAt = new Date(given)
  if (!(expiresAt > now)) throw fault("invalid_parameter", { reason: "`expires_at` must be in the future" })
  return expiresAt
}

/** Without a key of the caller's own there is a new pair, whose private half is shown once. */
const keysOf = (given: string | undefined) => {
  if (given === undefined) return generateKeyPair()
  if (!isPublicKey(given))
    throw fault("invalid_parameter", { reason: "`public_key` is not a WireGuard key in base64" })
  return { publicKey: given, privateKey: undefined }
}

const createChanges = (needs: VpcHandlerNeeds) => {
  const { database, changes, box, keeper, reason, hostId } = needs

  const requireKeeper = (): Keeper => {
    if (!keeper) throw fault("vpc_unavailable", { reason })
    return keeper
  }

  const tell = (db: Db, id: string) => changes.invalidate(db, TOPIC, id)

  /** A gateway on another host is changed there, as soon as it hears of it. */
  const settle = async (row: NetworkRow) => {
    if (row.host_id === hostId) await keeper?.settle(row.id)
  }

  const undo = (error: unknown): never => {
    throw fault("service_unavailable", { reason: error instanceof Error ? error.message : "" })
  }

  const insertNetwork = async (call: Call, input: Input<Specs["create"]>): Promise<NetworkRow> => {
    const { organization, now, projectTenant: owner } = call
    const id = newId()
    const keys = generateKeyPair()
    const sealed = await box.seal(organization.id, keyContext(id), keys.privateKey)
    return database.transaction(async tx => {
      const store = vpcStore(tx)
      await store.lock(organization.id)
      const range = chooseRange(input.cidr, rangesOf(await store.ranges(owner)))
      requireKeeper()
      if ((await store.count(organization.id)) >= VPCS_MAX)
        throw fault("invalid_parameter", { reason: `there are ${VPCS_MAX} private networks already` })
      const port = await freePort(needs.portRange, await hostStore(tx, hostId).ports())
      if (port === undefined)
        throw fault("service_unavailable", { reason: "no UDP port of SVC_VPC_PORTS is free" })
      const row: NetworkRow = {
        ...{ id, organization_id: owner.organizationId, project_id: owner.projectId, host_id: hostId },
        ...{ name: input.name, description: input.description ?? "", cidr: rangeText(range) },
        ...{ dns_servers: [...(input.dns_servers ?? [])], mtu: input.mtu ?? VPC_MTU_DEFAULT },
        ...{ region: input.region ?? "local", listen_port: port },
        ...{ public_key: keys.publicKey, private_key: sealed, created_at: now, updated_at: now },
      }
      await store.insert(row)
      return row
    })
  }

  const create = async (call: Call, input: Input<Specs["create"]>): Promise<NetworkRow> => {
    checkDnsServers(input.dns_servers ?? [])
    const row = await insertNetwork(call, input)
    await settle(row).catch(async error => {
      await vpcStore(database.db).delete(call.projectTenant, row.id)
      await settle(row).catch(() => undefined)
      return undo(error)
    })
    return row
  }

  const insertPeer = (
    call: Call,
    id: string,
    row: Omit<PeerRow, "address" | "allowed_ips">,
    asked: NewPeer,
  ) =>
    database.transaction(async tx => {
      const store = vpcStore(tx)
      const network = await requireRow(store.findForUpdate(call.projectTenant, id), "vpc_not_found", { id })
      const others = await store.peers(peersOf(call, id))
      if (others.length >= VPC_PEERS_MAX)
        throw fault("invalid_parameter", { reason: `there are ${VPC_PEERS_MAX} peers already` })
      if (
        others.some(({ public_key }) => public_key === row.public_key) ||
        network.public_key === row.public_key
      )
        throw fault("invalid_parameter", { reason: "the network has a peer with this `public_key` already" })
      const [range] = rangesOf([network.cidr]) as [Range]
      const { address, behind } = placePeer(range, asked.allowed_ips ?? [], others)
      requireKeeper()
      const peer: PeerRow = { ...row, address, allowed_ips: behind }
      await store.insertPeer(peer)
      await tell(tx, id)
      return { network, peer }
    })

  const addPeer = async (call: Call, id: string, input: NewPeer) => {
    const { now } = call
    checkEndpoint(input.endpoint, needs.urlProblem)
    checkDnsServers(input.dns_servers ?? [])
    const keys = keysOf(input.public_key)
    const peerId = newId()
    const token = keys.privateKey === undefined ? undefined : newToken(TOKEN_PREFIX)
    const row = {
      ...{ id: peerId, organization_id: call.organization.id, network_id: id, name: input.name },
      ...{ public_key: keys.publicKey, endpoint: input.endpoint ?? null, enabled: input.enabled ?? true },
      persistent_keepalive_seconds: input.persistent_keepalive_seconds ?? VPC_KEEPALIVE_DEFAULT,
      ...{ dns_servers: [...(input.dns_servers ?? [])], expires_at: checkExpiry(input.expires_at, now) },
      private_key:
        keys.privateKey === undefined
          ? null
          : await box.seal(call.organization.id, peerKeyContext(peerId), keys.privateKey),
      config_token_hash: token === undefined ? null : tokenHash(token),
      config_token_until: token === undefined ? null : new Date(now.getTime() + TOKEN_MS),
      created_at: now,
    }
    const { network, peer } = await insertPeer(call, id, row, input)
    await settle(network).catch(async error => {
      await vpcStore(database.db).deletePeer(peersOf(call, id), peer.id)
      return undo(error)
    })
    return { peer, privateKey: keys.privateKey, token }
  }

  /** What is removed is gone also where the gateway cannot be changed now: the keeper tries again. */
  const settleLater = (row: NetworkRow) => settle(row).catch(() => undefined)

  return { create, addPeer, tell, settleLater }
}

export const vpcHandlers = implement(areas.vpc, (needs: VpcHandlerNeeds) => {
  const { database, box, keeper, reason, hostId, endpointHost } = needs
  const changing = createChanges(needs)

  const stateOf = ({ id }: NetworkRow): NetworkState => {
    if (!keeper) return { endpointHost, status: "unavailable", reason }
    const problem = keeper?.problemOf(id)
    return { endpointHost, status: problem === undefined ? "active" : "error", reason: problem }
  }

  const countersOf = async ({ id, host_id }: NetworkRow) =>
    (host_id === hostId && (await keeper?.counters(id))) || new Map<string, never>()

  return {
    async list(input, call) {
      const found = await vpcStore(call.db).list(call.projectTenant, pageOf(input))
      return page({ rows: found.rows.map(row => toVpc(row, stateOf(row))), total: found.total }, input)
    },

    async create(input, call) {
      const row = await changing.create(call, input)
      call.describe({ targets: [target(row)], metadata: { cidr: row.cidr } })
      return toVpc({ ...row, peer_count: 0 }, stateOf(row))
    },

    async get({ id }, call) {
      const row = await findVpc(call, id)
      return toVpc(row, stateOf(row))
    },

    async delete({ id }, call) {
      const row = await database.transaction(async tx => {
        const found = await vpcStore(tx).findForUpdate(call.projectTenant, id)
        if (!found) throw fault("vpc_not_found", { id })
        await vpcStore(tx).delete(call.projectTenant, id)
        await changing.tell(tx, id)
        return found
      })
      await changing.settleLater(row)
      call.describe({ targets: [target(row)] })
      return { id, deleted: true }
    },

    async config({ id, peer_id, config_token }, call) {
      const network = await findVpc(call, id)
      const peers = await vpcStore(call.db).peers(peersOf(call, id))
      const peer = peer_id === undefined ? peers[0] : peers.find(one => one.id === peer_id)
      if (!peer) throw fault("peer_not_found", peer_id === undefined ? undefined : { id: peer_id })
      let privateKey: string | undefined
      if (config_token !== undefined) {
        const token = { hash: tokenHash(config_token), now: call.now }
        const sealed = await vpcStore(database.db).takePrivateKey(peersOf(call, id), peer.id, token)
        if (sealed === undefined) throw fault("token_invalid_or_expired")
        privateKey = await box.open(network.organization_id, peerKeyContext(peer.id), sealed)
      }
      const others = peers.filter(one => one.id !== peer.id)
      return {
        peer_id: peer.id,
        config: clientConfigOf(network, peer, { others, privateKey, endpointHost }),
        filename: fileNameOf(network.name),
        has_private_key: privateKey !== undefined,
      }
    },

    async listPeers({ id, ...input }, call) {
      const network = await findVpc(call, id)
      const found = await vpcStore(call.db).listPeers(peersOf(call, id), pageOf(input))
      const counters = await countersOf(network)
      const rows = found.rows.map(row => toPeer(row, counters.get(row.public_key), call.now))
      return page({ rows, total: found.total }, input)
    },

    async addPeer({ id, ...input }, call) {
      const { peer, privateKey, token } = await changing.addPeer(call, id, input)
      call.describe({ targets: [target({ id, name: "" }), peerTarget(peer)] })
      return {
        ...toPeer(peer, undefined, call.now),
        ...(privateKey !== undefined &&
          token !== undefined && { private_key: privateKey, config_token: token }),
      }
    },

    async removePeer({ id, peer_id }, call) {
      const { network, peer } = await database.transaction(async tx => {
        const store = vpcStore(tx)
        const network = await requireRow(store.findForUpdate(call.projectTenant, id), "vpc_not_found", { id })
        const removed = store.deletePeer(peersOf(call, id), peer_id)
        const peer = await requireRow(removed, "peer_not_found", { id: peer_id })
        await changing.tell(tx, id)
        return { network, peer }
      })
      await changing.settleLater(network)
      call.describe({ targets: [target(network), peerTarget(peer)] })
      return { id: peer_id, deleted: true }
    },
  }
})

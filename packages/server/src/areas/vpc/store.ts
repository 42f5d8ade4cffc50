import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import { countRows, listRows, type Slice } from "../../kernel/db/listing.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type NetworkRow = Tables["vpc.networks"]
export type PeerRow = Tables["vpc.peers"]
export type NetworkWithCount = NetworkRow & { readonly peer_count: number }

/** Whose networks: those of one project. */
export interface Owner {
  readonly organizationId: string
  readonly projectId: string
}

/** Which peers: those of a network of the organization. */
export interface PeerOwner {
  readonly organizationId: string
  readonly networkId: string
}

/** Rows of vpc.networks and vpc.peers, as calls see them. Every statement names the tenant. */
export const vpcStore = (db: Db) => {
  const own = ({ organizationId, projectId }: Owner) =>
    db
      .selectFrom("vpc.networks as network")
      .where("network.organization_id", "=", organizationId)
      .where("network.project_id", "=", projectId)

  const shown = (owner: Owner) =>
    own(owner)
      .selectAll("network")
      .select(eb =>
        eb
          .selectFrom("vpc.peers as peer")
          .whereRef("peer.network_id", "=", "network.id")
          .select(sql<number>`count(*)`.as("peers"))
          .$castTo<{ peers: number }>()
          .as("peer_count"),
      )
      .$castTo<NetworkWithCount>()

  const ofNetwork = ({ organizationId, networkId }: PeerOwner) =>
    db
      .selectFrom("vpc.peers")
      .where("organization_id", "=", organizationId)
      .where("network_id", "=", networkId)

  return {
    /** Holds a lock that keeps others of the organization from making networks until the transaction ends. */
    lock: async (organizationId: string) => {
      await sql`SELECT pg_advisory_xact_lock(hashtextextended(${`vpc.networks:${organizationId}`}, 0))`.execute(
        db,
      )
    },

    count: (organizationId: string): Promise<number> =>
      countRows(db.selectFrom("vpc.networks").where("organization_id", "=", organizationId)),

    insert: async (row: NetworkRow) => {
      await db.insertInto("vpc.networks").values(row).execute()
    },

    find: (owner: Owner, id: string): Promise<NetworkWithCount | undefined> =>
      shown(owner).where("network.id", "=", id).executeTakeFirst(),

    /** Locked: what changes a network and its peers takes turns. */
    findForUpdate: (owner: Owner, id: string): Promise<NetworkRow | undefined> =>
      own(owner).where("network.id", "=", id).selectAll("network").forUpdate().executeTakeFirst(),

    list: (owner: Owner, slice: Slice): Promise<{ rows: NetworkWithCount[]; total: number }> =>
      listRows(shown(owner).orderBy("network.created_at", "desc").orderBy("network.id", "desc"), slice),

    ranges: async (owner: Owner): Promise<string[]> =>
      (await own(owner).select("network.cidr").execute()).map(({ cidr }) => cidr),

    delete: async ({ organizationId, projectId }: Owner, id: string): Promise<boolean> => {
      const { numDeletedRows } = await db
        .deleteFrom("vpc.networks")
        .where("organization_id", "=", organizationId)
        .where("project_id", "=", projectId)
        .where("id", "=", id)
        .executeTakeFirst()
      return numDeletedRows > 0
    },

    peers: (owner: PeerOwner): Promise<PeerRow[]> =>
      ofNetwork(owner).selectAll().orderBy("created_at").orderBy("id").execute(),

    listPeers: (owner: PeerOwner, slice: Slice): Promise<{ rows: PeerRow[]; total: number }> =>
      listRows(ofNetwork(owner).selectAll().orderBy("created_at", "desc").orderBy("id", "desc"), slice),

    insertPeer: async (row: PeerRow) => {
      await db.insertInto("vpc.peers").values(row).execute()
    },

    deletePeer: ({ organizationId, networkId }: PeerOwner, id: string): Promise<PeerRow | undefined> =>
      db
        .deleteFrom("vpc.peers")
        .where("organization_id", "=", organizationId)
        .where("network_id", "=", networkId)
        .where("id", "=", id)
        .returningAll()
        .executeTakeFirst(),

    /** Uses up the token: gives the sealed key once, undefined for a token that is wrong, late or used. */
    takePrivateKey: async (
      { organizationId, networkId }: PeerOwner,
      id: string,
      token: { readonly hash: Buffer; readonly now: Date },
    ): Promise<string | undefined> => {
      const { rows } = await sql<{ private_key: string }>`
        WITH taken AS (
          SELECT id, private_key FROM vpc.peers
          WHERE organization_id = ${organizationId} AND network_id = ${networkId} AND id = ${id}
            AND config_token_hash = ${token.hash} AND config_token_until > ${token.now} AND private_key IS NOT NULL
          FOR UPDATE
        )
        UPDATE vpc.peers AS peer
        SET private_key = NULL, config_token_hash = NULL, config_token_until = NULL
        FROM taken WHERE peer.id = taken.id
        RETURNING taken.private_key`.execute(db)
      return rows[0]?.private_key
    },
  }
}

/** What a host has to carry, over all tenants: those whose organization and project still exist. */
export const hostStore = (db: Db, hostId: string) => {
  const alive = () =>
    db
      .selectFrom("vpc.networks as network")
      .innerJoin("core.projects as project", "project.id", "network.project_id")
      .innerJoin("core.organizations as organization", "organization.id", "network.organization_id")
      .where("project.deleted_at", "is", null)
      .where("organization.deleted_at", "is", null)
      .where("network.host_id", "=", hostId)

  return {
    ids: async (): Promise<string[]> => (await alive().select("network.id").execute()).map(({ id }) => id),

    find: (id: string): Promise<NetworkRow | undefined> =>
      alive().where("network.id", "=", id).selectAll("network").executeTakeFirst(),

    /** Ports that networks have, also those of projects that are deleted. */
    ports: async (): Promise<ReadonlySet<number>> => {
      const rows = await db
        .selectFrom("vpc.networks")
        .select("listen_port")
        .where("host_id", "=", hostId)
        .execute()
      return new Set(rows.map(({ listen_port }) => listen_port))
    },

    /** Networks of which a peer expired in that time. */
    expired: async (after: Date, until: Date): Promise<string[]> => {
      const rows = await alive()
        .innerJoin("vpc.peers as peer", "peer.network_id", "network.id")
        .where("peer.expires_at", ">", after)
        .where("peer.expires_at", "<=", until)
        .select("network.id")
        .distinct()
        .execute()
      return rows.map(({ id }) => id)
    },

    /** Private keys that nobody fetched in time, on all hosts. */
    forgetKeys: async (until: Date) => {
      await db
        .updateTable("vpc.peers")
        .set({ private_key: null, config_token_hash: null, config_token_until: null })
        .where("config_token_until", "<=", until)
        .execute()
    },
  }
}

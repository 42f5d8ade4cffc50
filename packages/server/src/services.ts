/** Everything that an area may ask for by name in the `needs` of its module: services and drivers. */
import type { KeyObject } from "node:crypto"
import type { Readable } from "node:stream"

import type { DatabaseAccess } from "./areas/databases/offers.ts"
import type { Deliveries } from "./core/deliveries/deliveries.ts"
import type { Hosts } from "./core/hosts/hosts.ts"
import type { Images } from "./core/images/images.ts"
import type { Keyring } from "./core/keys/keyring.ts"
import type { AccessKeys } from "./core/keys/signatures.ts"
import type { BackgroundMeters } from "./core/meters/meters.ts"
import type { PlatformEvents } from "./core/platform-events/platform-events.ts"
import type { ScheduleTargets } from "./core/schedule-targets.ts"
import type { AtRest } from "./core/secrets/at-rest.ts"
import type { SecretBox } from "./core/secrets/secret-box.ts"
import type { TenantKeys } from "./core/secrets/tenant-keys.ts"
import type { PortUrls } from "./core/workloads/port-urls.ts"
import type { AreaModule } from "./kernel/area.ts"
import type { Clock } from "./kernel/clock.ts"
import type { Changes } from "./kernel/db/changes.ts"
import type { Database, Db } from "./kernel/db/database.ts"
import type { Relay } from "./kernel/edges/relay.ts"
import type { Fanout } from "./kernel/fanout.ts"
import type { Jobs } from "./kernel/jobs/jobs.ts"
import type { Logger } from "./kernel/log.ts"
import type { MetricSources } from "./kernel/metrics.ts"
import type { Audit } from "./kernel/needs.ts"
import type { Offer } from "./kernel/offer.ts"
import type { Outbound } from "./kernel/outbound/outbound.ts"
import type { Accept } from "./kernel/tcp-listener.ts"
import type { BlobPort } from "./ports/blob/port.ts"
import type { DnsPort } from "./ports/dns/port.ts"
import type { EnginePort } from "./ports/engine/port.ts"
import type { GitPort, GitProviderName } from "./ports/git/port.ts"
import type { KvPort } from "./ports/kv/port.ts"
import type { Mails } from "./ports/mail/port.ts"
import type { PushPort } from "./ports/push/port.ts"
import type { RuntimePort } from "./ports/runtime/port.ts"
import type { SearchPort } from "./ports/search/port.ts"
import type { VectorIndexPort } from "./ports/vectors/port.ts"

/** How tenant databases are reached and kept. */
export interface PostgresSettings {
  readonly bindHost: string
  /** 0: any that is free. */
  readonly bindPort: number
  /** In connection strings. */
  readonly host: string
  readonly requireTls: "remote" | "always" | "never"
  /** PEM files of the operator's. */
  readonly certFile: string | undefined
  readonly keyFile: string | undefined
  /** Where a self-made certificate is kept. */
  readonly certificateDir: string
  /** From which the key is made that signs them: 32 bytes, the same for all processes of an installation. */
  readonly authoritySecret: Buffer
  readonly graceSeconds: number
  /** Longest time to turn a question into a statement without a language model. */
  readonly textToSqlMs: number
  /** Most disk of one database, whatever plans say. */
  readonly diskBytesMax: number | undefined
}

/** How computers are reached by ssh. */
export interface SshSettings {
  /** In records. */
  readonly host: string
  /** Where this process listens. */
  readonly port: number
  /** Ed25519, the same for all processes of an installation. */
  readonly hostKey: KeyObject
}

/** This installation as other mail servers know it. */
export interface MailSettings {
  /** Takes bounces: what MX records of sending domains point at. */
  readonly mailHost: string
  /** What their SPF records name as allowed to send. */
  readonly spfTerms: string
  /** What their tracking names are aliases of. */
  readonly trackingHost: string
  /** Where bounces and complaints are taken; port 0: any that is free. */
  readonly listenOn: { readonly host: string; readonly port: number } | undefined
}

/** A server that speaks OpenAI's chat completions. */
export interface AiUpstream {
  /** Up to and including the version: `https://api.openai.com/v1`. */
  readonly baseUrl: string
  readonly key?: string | undefined
  readonly model: string
}

export interface TableQuery {
  readonly schema: string
  readonly table: string
  readonly columns: readonly string[]
  /** The key of the last row of the page before; null for the first page. */
  readonly after: readonly string[] | null
  readonly limit: number
}

export interface TablePage {
  /** In the order of the primary key, whose values are given as PostgreSQL writes them. */
  readonly rows: readonly {
    readonly key: readonly string[]
    /** By column, as JSON. */
    readonly values: Readonly<Record<string, unknown>>
  }[]
}

/** Rows of a project's databases, read with no right to write. */
export interface TableReader {
  /** Throws `database_not_found` and `table_not_found`, also for one without primary key. */
  read(
    of: {
      readonly organizationId: string
      readonly projectId: string
      /** The project's default one when undefined. */
      readonly databaseId: string | undefined
      readonly branchId: string | undefined
    },
    query: TableQuery,
    signal: AbortSignal,
  ): Promise<TablePage>
}

export interface ListedObject {
  readonly key: string
  readonly sizeBytes: number
  readonly contentType: string | undefined
}

/** Objects of a project's buckets. */
export interface ObjectReader {
  /** In the order of the keys. Throws `bucket_not_found`. */
  list(
    projectId: string,
    bucket: string,
    listing: { readonly prefix: string | undefined; readonly cursor: string | null; readonly limit: number },
  ): Promise<{ readonly objects: readonly ListedObject[]; readonly cursor: string | null }>
  /** Null when there is no such object any more. */
  read(projectId: string, bucket: string, key: string): Promise<Readable | null>
}

/** Calls functions of a project. */
export interface FunctionCaller {
  /** Throws `function_not_found`. */
  check(of: FunctionOf): Promise<void>
  /** 2xx is a success, 500 a failure of the function, 504 a timeout, 429 a throttle, 404 no such function. */
  invoke(
    of: FunctionOf,
    call: {
      readonly body: string
      readonly timeoutMs: number
      readonly signal: AbortSignal
      readonly trigger: "event" | "cron"
    },
  ): Promise<{ readonly status: number; readonly body: string }>
}

export interface FunctionOf {
  readonly organizationId: string
  readonly projectId: string
  readonly name: string
}

/** A push or a pull request that passed the filters of its integration. */
export interface PushToBuild {
  readonly organizationId: string
  readonly projectId: string
  readonly integrationId: string
  readonly provider: GitProviderName
  readonly repository: string
  /** Opens a private repository; null where there is none. */
  readonly installationId: number | null
  readonly ref: string
  readonly commit: string
  /** Null for a push. */
  readonly pullRequest: number | null
  readonly build: {
    readonly dockerfile_path?: string
    readonly build_args?: Readonly<Record<string, string>>
  }
  /** Where the image goes once it is built; null: nowhere. */
  readonly deployTarget: { readonly type: string; readonly id: string } | null
}

/** What the builds area does with pushes. */
export interface PushBuilder {
  /** On the transaction that records the push. Gives the build's id; null where nothing is to be built. */
  onPush(db: Db, push: PushToBuild): Promise<string | null>
}

/** Who answers tickets and chats, and where they read of them. */
export interface SupportSettings {
  /** Undefined: the first of the installation. */
  readonly organizationId: string | undefined
  readonly email: string | undefined
}

/** A mail that was sent to an address of ours. Automatic ones (RFC 3834) are refused before. */
export interface MailReply {
  readonly address: string
  /** The address in `From`. */
  readonly from: string
  readonly text: string
  /** Message-ID: the same mail is taken once. */
  readonly mailId: string
}

export type ReplyVerdict =
  | "taken"
  | "duplicate"
  | "unknown_address"
  | "foreign_sender"
  | "empty"
  | "closed"
  | "full"

/** What becomes of mails that answer ours. */
export interface MailReplies {
  /** Whether an address has the form of those given out; `receive` finds whether it is one. */
  isForUs(address: string): boolean
  /** Everything but `taken` and `duplicate` left no trace. */
  receive(reply: MailReply): Promise<ReplyVerdict>
}

export interface Services {
  readonly database: Database
  readonly clock: Clock
  readonly log: Logger
  /** Sandboxes that may be kept started for the next who asks. */
  readonly sandboxPoolMax: number
  /** URLs of their ports; undefined where no domain leads here. */
  readonly portUrls: PortUrls | undefined
  /** Endpoint of S3 clients whose names are buckets; undefined where no domain leads here. */
  readonly s3Domain: string | undefined
  /** How requests go on to other processes of the platform. */
  readonly relay: Relay
  /** Branches that calls name, and sessions in their databases. */
  readonly databaseAccess: Offer<DatabaseAccess>
  /** What the databases area lets others read. */
  readonly tables: Offer<TableReader>
  /** What the storage area lets others read. */
  readonly objects: Offer<ObjectReader>
  /** What the functions area lets others call. */
  readonly functions: Offer<FunctionCaller>
  /** Where this process keeps the code of functions that run in it. */
  readonly functionsDir: string
  /** Who builds what was pushed. */
  readonly pushes: Offer<PushBuilder>
  readonly changes: Changes
  readonly fanout: Fanout
  /** Seals what the platform keeps for a tenant and must be able to read again. */
  readonly box: SecretBox
  /** Encrypts what tenants store, where the operator asks for it. */
  readonly atRest: AtRest
  /** The keys under which tenants encrypt what they keep themselves. */
  readonly tenantKeys: TenantKeys
  /** For clients that sign their requests in the name of a key. */
  readonly accessKeys: AccessKeys
  /** Who a key is, by its id: for what was put off and must be allowed still. Throws the 401 that fits. */
  readonly keys: Pick<Keyring, "byId">
  /** Where people and machines reach this installation, without a slash at the end. */
  readonly baseUrl: string
  readonly meters: BackgroundMeters
  /** Tells webhooks and notices what happened to a tenant. */
  readonly platformEvents: PlatformEvents
  readonly metrics: MetricSources
  /** Requests URLs that users give, and the only way to. */
  readonly outbound: Outbound
  /** Aborts when the platform begins to stop: what would otherwise last must end. */
  readonly stopping: AbortSignal
  readonly jobs: Jobs
  /** The ways by which mails leave. */
  readonly mails: Mails
  /** Sender of mails for which nobody names another. */
  readonly mailFrom: string
  /** Tells endpoints of users what happened, with retries. */
  readonly deliveries: Deliveries
  /** What schedules can do at their times; areas add what they can do. */
  readonly scheduleTargets: ScheduleTargets
  /** What delays between attempts are taken times. */
  readonly retryDelayFactor: number
  readonly postgres: PostgresSettings
  /** Undefined where it is off. */
  readonly ssh: SshSettings | undefined
  /** Who serves the clients that come to it: the computers area. */
  readonly sshClients: Offer<Accept>
  /** For what happens outside of calls. */
  readonly audit: Pick<Audit, "append">
  readonly dns: DnsPort
  readonly mail: MailSettings
  readonly support: SupportSettings
  /** What the support area does with mails that arrive. */
  readonly mailReplies: Offer<MailReplies>
  /** Undefined where none is configured. */
  readonly ai: AiUpstream | undefined
}

/** What is opened with the first area that needs it. */
export interface Drivers {
  readonly kv: KvPort
  readonly vectors: VectorIndexPort
  readonly blob: BlobPort
  readonly engine: EnginePort
  readonly search: SearchPort
  /** Runs code of tenants. */
  readonly runtime: RuntimePort
  /** What workloads begin with beside the machine's own programs. */
  readonly images: Images
  /** Where workloads are placed, and what room is left for them. */
  readonly hosts: Hosts
  /** What repositories are asked and heard by. */
  readonly git: GitPort
  /** Takes messages to browsers and phones. */
  readonly push: PushPort
}

export type Module = AreaModule<Services, Drivers>

/** What a module that names these needs gives its area. */
export type NeedsOf<Names extends readonly (keyof (Services & Drivers))[]> = Pick<
  Services & Drivers,
  Names[number]
>

/** Types a module by the needs it lists, and by nothing else. */
export const defineModule = <const Need extends keyof (Services & Drivers)>(
  module: AreaModule<Services, Drivers, Need>,
): Module => module as unknown as Module

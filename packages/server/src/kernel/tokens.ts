/** What the kernel gives to modules that ask for it. */
import type { Clock } from "./clock.ts"
import type { Changes } from "./db/changes.ts"
import type { Database } from "./db/database.ts"
import type { InProcessCaller } from "./edges/in-process.ts"
import type { OwnServer } from "./edges/own-server.ts"
import type { Relay } from "./edges/relay.ts"
import type { Fanout } from "./fanout.ts"
import type { Jobs } from "./jobs/jobs.ts"
import type { Logger } from "./log.ts"
import type { MetricSources } from "./metrics.ts"
import type { Outbound } from "./outbound/outbound.ts"
import type { GuardedSockets } from "./outbound/sockets.ts"
import { token } from "./token.ts"

/** Where this process runs and how it is reached. */
export interface Installation {
  /** Where people and machines reach it, without a slash at the end. */
  readonly baseUrl: string
  /** The address that it listens on. */
  readonly host: string
  readonly port: number
  /** The port that many after its own; 0, which is any that is free, where its own was any too. */
  portAfter(count: number): number
  /** Folder of everything that is stored on this machine. */
  readonly dataDir: string
  readonly mode: "development" | "production"
  /** User of engines that are started by root. */
  readonly runAs: string | undefined
  /** Name servers of the operator's; the system's where there are none. */
  readonly dnsServers: readonly string[]
  /** Addresses that URLs of users may lead to though they are not public. */
  readonly outboundAllow: readonly string[]
  /** Whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly string[]
}

export const installation = token<Installation>("installation")
/** Where people and machines reach this installation, without a slash at the end. */
export const baseUrl = token<string>("baseUrl")
export const database = token<Database>("database")
export const changes = token<Changes>("changes")
export const fanout = token<Fanout>("fanout")
export const clock = token<Clock>("clock")
export const log = token<Logger>("log")
export const metrics = token<MetricSources>("metrics")
export const jobs = token<Jobs>("jobs")
/** Requests URLs that users give, and the only way to. */
export const outbound = token<Outbound>("outbound")
/** Calls operations through all stages, in the name of a principal. */
export const inProcess = token<InProcessCaller>("inProcess")
/** Whether a page of that origin is the platform's own. */
export const isOwnOrigin = token<(origin: string) => boolean>("isOwnOrigin")
/** How requests go on to other processes of the platform. */
export const relay = token<Relay>("relay")
/** The platform's own server of HTTP. */
export const ownServer = token<OwnServer>("ownServer")
/** Aborts when the platform begins to stop: what would otherwise last must end. */
export const stopping = token<AbortSignal>("stopping")
/** Factor of all delays between attempts. */
export const retryDelayFactor = token<number>("retryDelayFactor")
/** Plain TCP to hosts that users name. */
export const sockets = token<GuardedSockets>("sockets")
/** For what protects the keys of tenants, and nothing else: secrets of other purposes are derived from it by the core. */
export const masterKey = token<Buffer>("masterKey")

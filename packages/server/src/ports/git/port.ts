/**
 * Git providers: what they tell of repositories, and what they can be asked. Their words differ; the shapes here are
 * the same for all.
 */

import { openedToken } from "../../kernel/token.ts"
import { PortError } from "../port-error.ts"

export type GitProviderName = "github" | "gitlab" | "bitbucket" | "gitea"

/** A request that came to a webhook, and nobody has trusted yet. */
export interface Delivery {
  /** By its lower-case name. */
  header(name: string): string | undefined
  /** The bytes as they came: signatures cover them. */
  readonly body: Buffer
}

export interface PullRequest {
  readonly number: number
  /** The provider's word: `opened`, `synchronize`, … */
  readonly action: string
  /** The branch that has the changes. */
  readonly source: string
  /** The branch that is to get them. */
  readonly target: string
}

/** What happened to a repository. */
export interface GitEvent {
  /** `other`: nothing the platform acts on. */
  readonly type: "push" | "tag" | "pull_request" | "ping" | "other"
  /** `owner/name`; empty where the provider does not tell. */
  readonly repository: string
  /** `refs/heads/main`, `refs/tags/v1`. */
  readonly ref: string | null
  /** The newest commit; null where the ref was deleted. */
  readonly commit: string | null
  /** The commit of the ref before; null where it is new or not known. */
  readonly commitBefore: string | null
  /** The first line of the newest commit's message, or the title of the pull request. */
  readonly message: string | null
  readonly author: string | null
  /** Changed files; null where the provider does not tell all of them. */
  readonly paths: readonly string[] | null
  readonly pullRequest: PullRequest | null
}

/** What one delivery says. */
export interface ParsedDelivery {
  /** The provider's word for the kind of event. */
  readonly providerEvent: string
  /** One for each branch and tag that a push changed. */
  readonly events: readonly GitEvent[]
}

/** How a provider's deliveries are verified and understood. */
export interface Hooks {
  /** The headers of which a signed delivery has at least one. */
  readonly signatureHeaders: readonly string[]
  /** Whether the delivery was signed with the secret, compared in constant time. `nowMs` bounds signatures with a time. */
  isGenuine(delivery: Delivery, secret: string, nowMs: number): boolean
  /** The id under which the provider sends a delivery again; undefined where it gives none. */
  idOf(delivery: Delivery): string | undefined
  /** Throws a PortError `refused` for a body that is not the provider's. Call it with genuine deliveries only. */
  read(delivery: Delivery): ParsedDelivery
}

/** What opens a provider's API. */
export type GitAccount =
  | {
      readonly kind: "token"
      readonly baseUrl: string
      readonly token: string
      /** Bitbucket's API tokens belong to a user; its access tokens do not. */
      readonly username: string | null
    }
  | {
      readonly kind: "app"
      readonly baseUrl: string
      readonly appId: string
      /** PEM. */
      readonly privateKey: string
    }

export interface Repository {
  readonly id: string
  readonly fullName: string
  readonly private: boolean
  readonly defaultBranch: string | null
  readonly cloneUrl: string
}

/** The branches of a repository with their newest commits, or that nothing changed since `etag`. */
export type Branches =
  | { readonly kind: "unchanged" }
  | {
      readonly kind: "listed"
      /** Without `refs/heads/`. */
      readonly heads: ReadonlyMap<string, string>
      /** For the next request; undefined where the provider gives none for all of the branches. */
      readonly etag: string | undefined
    }

/** What an account can read. Methods throw PortErrors: `missing` for what it cannot see, RateLimitError for patience. */
export interface GitAccess {
  /** At most `REPOSITORIES_MAX`. */
  repositories(signal: AbortSignal): Promise<readonly Repository[]>
  repository(fullName: string, signal: AbortSignal): Promise<Repository>
  /** Refused for more than `BRANCHES_MAX`. */
  branches(fullName: string, etag: string | undefined, signal: AbortSignal): Promise<Branches>
}

export interface Installation {
  readonly id: number
  readonly account: { readonly login: string; readonly type: string }
  readonly repositorySelection: string
  readonly permissions: Readonly<Record<string, string>>
  readonly suspendedAt: Date | null
  readonly htmlUrl: string | null
}

/** What a token is narrowed to; all of the installation's where a field is undefined. */
export interface Narrowing {
  readonly repositoryIds?: readonly number[] | undefined
  readonly permissions?: Readonly<Record<string, string>> | undefined
}

export interface IssuedToken {
  readonly token: string
  readonly expiresAt: Date
  readonly permissions: Readonly<Record<string, string>>
  readonly repositorySelection: string
}

/** An App: a program known to the provider, that organizations install. */
export interface GitApp {
  /** Throws a PortError `missing` for an installation that is not the App's. */
  installation(id: number, signal: AbortSignal): Promise<Installation>
  /** One that still has five minutes at least, from memory where possible. */
  token(id: number, narrowing: Narrowing, signal: AbortSignal): Promise<IssuedToken>
  /** What the installation can read. */
  access(id: number): GitAccess
}

export interface GitPort {
  /** The API's address of the provider's own service. */
  readonly baseUrls: Readonly<Record<GitProviderName, string>>
  hooks(provider: GitProviderName): Hooks
  access(provider: GitProviderName, account: GitAccount & { kind: "token" }): GitAccess
  /** Only GitHub has Apps. */
  app(account: GitAccount & { kind: "app" }): GitApp
}

export const REPOSITORIES_MAX = 1_000
export const BRANCHES_MAX = 5_000

/** The provider asked not to be asked before that time. */
export class RateLimitError extends PortError {
  readonly retryAt: Date

  constructor(retryAt: Date) {
    super("unavailable", `the provider's rate limit is reached until ${retryAt.toISOString()}`)
    this.retryAt = retryAt
  }
}

/** The part of the platform's guarded client that drivers use. */
export interface GitHttp {
  request(request: {
    readonly url: string
    readonly method: "GET" | "POST"
    readonly headers: Readonly<Record<string, string>>
    readonly body?: string
    readonly timeoutMs: number
    readonly responseBytesMax: number
    readonly decompress: true
    readonly overflow: "fail"
    readonly signal: AbortSignal
  }): Promise<GitAnswer>
}

export type GitAnswer =
  | {
      readonly kind: "answered"
      readonly status: number
      readonly headers: Readonly<Record<string, string>>
      readonly body: Buffer
    }
  | {
      readonly kind:
        | ("refused" | "unresolved" | "unreachable" | "tls" | "timeout")
        | ("broken" | "too_large" | "aborted")
      readonly message: string
    }

/** What repositories are asked and heard by. */
export const git = openedToken<GitPort>("git")

/** Shapes of the integrations area. */
import { T } from "./dsl.ts"
import { Dictionary, described, FIELD_FAULT, Id, Nullable, OneOf, Time } from "./types.ts"

export const gitProviders = ["github", "gitlab", "bitbucket", "gitea"] as const
export const integrationStatuses = ["pending", "active", "paused", "error"] as const
export const gitEventTypes = ["push", "tag", "pull_request", "ping", "other"] as const
export const gitEventStatuses = ["received", "processed", "ignored", "failed"] as const

/** How long the secret before a new one is still accepted, unless a rotation says otherwise. */
export const INTEGRATION_SECRET_GRACE_SECONDS_DEFAULT = 86_400
const GRACE_SECONDS_MAX = 7 * 86_400

/** Globs of one filter. */
const FILTER_MAX = 50
const BUILD_ARGS_MAX = 64

const Glob = T.String({ minLength: 1, maxLength: 255 })

const BranchFilter = T.Array(Glob, {
  maxItems: FILTER_MAX,
  description:
    "Branches that count, as globs: `*` is anything but `/`, `**` anything, `?` one character but `/`. Empty or left out: every " +
    "branch. A glob that begins with `refs/tags/` is for tags, which count only if it matches.",
})

const PathFilter = T.Object({
  include: T.Optional(
    T.Array(Glob, {
      maxItems: FILTER_MAX,
      description: "Paths that count, as globs; empty or left out: every path",
    }),
  ),
  exclude: T.Optional(
    T.Array(Glob, { maxItems: FILTER_MAX, description: "Paths that do not count, as globs" }),
  ),
})

const Build = T.Object({
  dockerfile_path: T.Optional(
    T.String({
      minLength: 1,
      maxLength: 255,
      description: "Path of the Dockerfile in the repository; `Dockerfile` when left out",
    }),
  ),
  build_args: T.Optional(
    Dictionary(T.String({ minLength: 1, maxLength: 128 }), T.String({ maxLength: 4096 }), {
      maxProperties: BUILD_ARGS_MAX,
      description: "Build arguments, by name",
    }),
  ),
})

const DeployTarget = T.Object({
  type: OneOf(["run_service", "deployment", "function"], { description: "What is deployed to" }),
  id: T.String({ minLength: 1, maxLength: 64, description: "Its id" }),
})

export const InstallationId = T.Integer({
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: "Id of the installation of the provider's App",
})

export const Provider = T.Unsafe<(typeof gitProviders)[number]>(
  T.String({
    enum: [...gitProviders],
    [FIELD_FAULT]: "invalid_provider",
    description: "Where the repository is hosted",
  }),
)

export const WebhookSecret = T.String({
  minLength: 16,
  maxLength: 255,
  description:
    "Secret of the provider's webhook, for providers that choose it themselves; generated when left out",
})

const changeable = {
  branch_filter: T.Optional(BranchFilter),
  auto_build: T.Optional(
    T.Boolean({ description: "Build pushes that pass the filters; true when left out" }),
  ),
  auto_deploy: T.Optional(T.Boolean({ description: "Deploy what was built; false when left out" })),
  preview: T.Optional(T.Boolean({ description: "Also build pull requests; false when left out" })),
  path_filter: T.Optional(described(PathFilter, "Which changed paths count")),
  build: T.Optional(described(Build, "How the image is built")),
  deploy_target: T.Optional(
    Nullable(DeployTarget, { description: "Where builds are deployed; null or left out: nowhere" }),
  ),
}

export const CreateBody = T.Object({
  provider: described(Provider, "The provider"),
  repository: T.String({
    minLength: 3,
    maxLength: 255,
    description: "`owner/name`; for GitLab with all groups",
  }),
  installation_id: T.Optional(described(InstallationId, "Id at the provider")),
  webhook_secret: T.Optional(WebhookSecret),
  ...changeable,
})

export const UpdateBody = T.Object({
  ...changeable,
  status: T.Optional(
    OneOf(["active", "paused"], { description: "`paused`: what arrives is recorded and ignored" }),
  ),
})

export const RotateBody = T.Object({
  webhook_secret: T.Optional(WebhookSecret),
  grace_period_seconds: T.Optional(
    T.Integer({
      minimum: 0,
      maximum: GRACE_SECONDS_MAX,
      default: INTEGRATION_SECRET_GRACE_SECONDS_DEFAULT,
      description: "Seconds for which the old secret is still accepted",
    }),
  ),
})

const integrationFields = {
  id: Id,
  project_id: Id,
  provider: OneOf(gitProviders, { description: "Where the repository is hosted" }),
  repository: T.String({ description: "`owner/name`" }),
  installation_id: Nullable(T.Integer(), {
    description: "Installation of the provider's App; null for none",
  }),
  branch_filter: T.Array(T.String(), { description: "Branches that count, as globs; empty for all" }),
  path_filter: T.Object(
    {
      include: T.Array(T.String(), { description: "Paths that count, as globs; empty for all" }),
      exclude: T.Array(T.String(), { description: "Paths that do not count, as globs" }),
    },
    { description: "Which changed paths count" },
  ),
  auto_build: T.Boolean({ description: "Whether pushes that pass the filters are built" }),
  auto_deploy: T.Boolean({ description: "Whether what was built is deployed" }),
  preview: T.Boolean({ description: "Whether pull requests are built" }),
  build: described(Build, "How the image is built"),
  deploy_target: Nullable(DeployTarget, { description: "Where builds are deployed; null for nowhere" }),
  status: OneOf(integrationStatuses, {
    description: "`pending`: nothing was received yet; `error`: `last_error` says why",
  }),
  webhook_url: T.String({ description: "Address to enter at the provider" }),
  webhook_secret_hint: T.String({ description: "The last four characters of the secret" }),
  last_event_at: Nullable(Time, {
    description: "RFC 3339 time in UTC of the last event; null before the first",
  }),
  last_event: Nullable(
    T.Object({
      type: OneOf(gitEventTypes, { description: "Kind of event" }),
      ref: Nullable(T.String(), { description: "Branch or tag, as `refs/heads/main`; null for others" }),
      commit: Nullable(T.String(), { description: "Id of the newest commit; null for none" }),
      build_id: Nullable(Id, { description: "Build that it started; null for none" }),
    }),
    { description: "The last event; null before the first" },
  ),
  last_polled_at: Nullable(Time, {
    description: "RFC 3339 time in UTC when the provider was asked last; null if it never was",
  }),
  last_error: Nullable(T.String(), {
    description: "Why the provider could not be asked last time; null if it could",
  }),
  created_at: Time,
  updated_at: Time,
}

export const Integration = T.Object(integrationFields)
export const WithSecret = T.Object({
  ...integrationFields,
  webhook_secret: T.Optional(T.String({ description: "Shown only in the reply that sets it" })),
})

export const GitEvent = T.Object({
  id: Id,
  integration_id: Id,
  source: OneOf(["webhook", "poll", "replay"], { description: "How it was received" }),
  type: OneOf(gitEventTypes, { description: "Kind of event" }),
  provider_event: T.String({ description: "Name of the event at the provider" }),
  delivery_id: Nullable(
    T.String({ description: "Id of the delivery at the provider; null for polled events" }),
  ),
  repository: T.String({ description: "`owner/name`" }),
  ref: Nullable(T.String(), { description: "Branch or tag, as `refs/heads/main`; null for others" }),
  commit: Nullable(T.String(), { description: "Id of the newest commit; null for none" }),
  commit_before: Nullable(T.String(), { description: "Commit that the branch was at before; null for none" }),
  message: Nullable(
    T.String({
      description: "First line of the newest commit message, or title of the pull request; null for none",
    }),
  ),
  author: Nullable(T.String(), { description: "Who pushed or opened it; null if it is not known" }),
  pull_request: Nullable(
    T.Object({
      number: T.Integer({ description: "Number of the pull request" }),
      action: T.String({ description: "What happened to it, as the provider calls it" }),
      source: T.String({ description: "Branch with the changes" }),
      target: T.String({ description: "Branch to merge into" }),
    }),
    { description: "The pull request; null for other events" },
  ),
  paths: Nullable(
    T.Array(T.String(), { description: "Changed files; null if the provider does not report them" }),
  ),
  status: OneOf(gitEventStatuses, { description: "`ignored` and `failed`: `reason` says why" }),
  reason: Nullable(T.String({ description: "Why it was ignored or failed; null otherwise" })),
  build_id: Nullable(Id),
  received_at: Time,
  processed_at: Nullable(Time, { description: "RFC 3339 time in UTC; null before it is processed" }),
})

export const Installation = T.Object({
  installation_id: T.Integer({ description: "Id at the provider" }),
  provider: OneOf(gitProviders, { description: "Where the repository is hosted" }),
  account: T.Object(
    {
      login: T.String({ description: "Name of the account" }),
      type: T.String({ description: "Kind of account: `User` or `Organization`" }),
    },
    { description: "Account that the App is installed in" },
  ),
  repository_selection: T.String({ description: "`all` or `selected`" }),
  permissions: T.Record(T.String(), T.String(), { description: "Permissions, as GitHub names them" }),
  suspended_at: Nullable(Time, { description: "RFC 3339 time in UTC; null if it is not suspended" }),
  html_url: Nullable(T.String(), { description: "Page of the installation at the provider; null for none" }),
  created_at: Time,
})

const PERMISSIONS_MAX = 64

export const TokenBody = T.Object({
  repository_ids: T.Optional(
    T.Array(InstallationId, {
      minItems: 1,
      maxItems: 500,
      uniqueItems: true,
      description: "Only these repositories; all of the installation when left out",
    }),
  ),
  permissions: T.Optional(
    Dictionary(T.String({ minLength: 1, maxLength: 64 }), OneOf(["read", "write", "admin"]), {
      maxProperties: PERMISSIONS_MAX,
      description: "Permissions by GitHub's names, such as `contents`; all of the installation when left out",
    }),
  ),
})

export const InstallationToken = T.Object({
  token: T.String({ description: "Access token; it ends at `expires_at`" }),
  expires_at: Time,
  permissions: T.Record(T.String(), T.String(), { description: "Permissions that the token has" }),
  repository_selection: T.String({ description: "`all` or `selected`" }),
})

export const Repositories = T.Object(
  {
    data: T.Array(
      T.Object({
        id: T.String(),
        full_name: T.String({ description: "`owner/name`" }),
        private: T.Boolean({ description: "True if it is not public" }),
        default_branch: Nullable(T.String(), {
          description: "Its default branch; null for an empty repository",
        }),
        clone_url: T.String({ description: "Address for `git clone`" }),
        provider: OneOf(gitProviders, { description: "The provider" }),
        installation_id: Nullable(T.Integer(), {
          description: "Installation that can read it; null for credentials",
        }),
      }),
      { description: "Repositories that can be read" },
    ),
    errors: T.Array(
      T.Object({
        provider: OneOf(gitProviders, { description: "Where the repository is hosted" }),
        installation_id: Nullable(T.Integer(), { description: "The installation; null for credentials" }),
        message: T.String({ description: "Why it could not be asked" }),
      }),
      { description: "Installations and credentials that could not be asked" },
    ),
  },
  { "x-svc-list": true },
)

export const CredentialsBody = T.Object({
  base_url: T.Optional(
    T.String({
      minLength: 1,
      maxLength: 2048,
      description: "Address of the API of a self-hosted provider: `https://git.example.com/api/v4`",
    }),
  ),
  token: T.Optional(
    T.String({ minLength: 1, maxLength: 8192, description: "A personal, project or repository token" }),
  ),
  username: T.Optional(
    T.String({
      minLength: 1,
      maxLength: 255,
      description: "Bitbucket: user of the API token; left out for access tokens",
    }),
  ),
  app_id: T.Optional(
    T.String({ minLength: 1, maxLength: 64, description: "GitHub: an App's id or client id" }),
  ),
  private_key: T.Optional(
    T.String({ minLength: 1, maxLength: 16_384, description: "GitHub: private key of the App, in PEM" }),
  ),
})

export const Credentials = T.Object({
  provider: OneOf(gitProviders, { description: "The provider" }),
  kind: OneOf(["token", "app"], { description: "`app`: a GitHub App; `token`: an access token" }),
  base_url: T.String({ description: "Address of the provider's API" }),
  username: Nullable(T.String(), { description: "User of the token; null for none" }),
  app_id: Nullable(T.String(), { description: "Id of the GitHub App; null for tokens" }),
  hint: T.String({ description: "The last four characters of a token, or the fingerprint of a key" }),
  created_at: Time,
  updated_at: Time,
})

export const TestResult = T.Object({
  success: T.Boolean({ description: "True if the repository can be read" }),
  repository: Nullable(
    T.String({ description: "`owner/name` as the provider spells it; null if it could not be read" }),
  ),
  default_branch: Nullable(T.String(), { description: "Its default branch; null if it could not be read" }),
  error: Nullable(T.String(), { description: "Why it could not be read; null if it could" }),
})

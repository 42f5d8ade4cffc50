/** Deliveries as the four providers send them. */
import { createHmac, randomUUID } from "node:crypto"

export const ZEROS = "0".repeat(40)

/** A commit's id that ends with a number. */
export const commit = (number: number): string => number.toString(16).padStart(40, "a")

export interface PushFields {
  readonly repository?: string
  readonly ref?: string
  readonly before?: string
  readonly after?: string
  readonly paths?: readonly string[]
}

const filled = (given: PushFields) => ({
  ...{ repository: "acme/shop", ref: "refs/heads/main", before: commit(1), after: commit(2) },
  paths: ["src/main.ts"],
  ...given,
})

export interface Hook {
  readonly headers: Record<string, string>
  readonly body: string
}

export const hex = (secret: string, body: string): string =>
  createHmac("sha256", secret).update(body).digest("hex")

/** A push in the shape that GitHub and Gitea share. */
const githubBody = (given: PushFields) => {
  const { repository, ref, before, after, paths } = filled(given)
  return {
    ...{ ref, before, after, forced: false, created: before === ZEROS, deleted: after === ZEROS },
    repository: { id: 1, full_name: repository },
    sender: { login: "octocat" },
    head_commit: after === ZEROS ? null : { id: after, message: "Sell more\n\nmuch more" },
    commits: [{ id: after, message: "Sell more\n\nmuch more", added: [], modified: paths, removed: [] }],
  }
}

export const githubHook = (
  secret: string,
  event: string,
  content: object,
  id: string = randomUUID(),
): Hook => {
  const body = JSON.stringify(content)
  const headers = {
    ...{ "content-type": "application/json", "x-github-event": event, "x-github-delivery": id },
    "x-hub-signature-256": `sha256=${hex(secret, body)}`,
  }
  return { headers, body }
}

export const githubPush = (secret: string, given: PushFields = {}, id?: string): Hook =>
  githubHook(secret, "push", githubBody(given), id)

export const githubPullRequest = (
  secret: string,
  { action = "opened", head = commit(7) }: { action?: string; head?: string } = {},
): Hook =>
  githubHook(secret, "pull_request", {
    ...{ action, number: 12 },
    repository: { full_name: "acme/shop" },
    pull_request: {
      ...{ number: 12, title: "Sell even more", user: { login: "octocat" } },
      ...{ head: { ref: "more", sha: head }, base: { ref: "main" } },
    },
  })

export const giteaPush = (secret: string, given: PushFields = {}): Hook => {
  const body = JSON.stringify({ ...githubBody(given), total_commits: 1 })
  const headers = {
    ...{ "content-type": "application/json", "x-gitea-event": "push", "x-gitea-delivery": randomUUID() },
    "x-gitea-signature": hex(secret, body),
  }
  return { headers, body }
}

const gitlabBody = (given: PushFields) => {
  const { repository, ref, before, after, paths } = filled(given)
  return JSON.stringify({
    ...{ object_kind: ref.startsWith("refs/tags/") ? "tag_push" : "push", ref, before, after },
    ...{ user_username: "octocat", project: { path_with_namespace: repository } },
    ...{
      total_commits_count: 1,
      commits: [{ id: after, message: "Sell more", added: [], modified: paths, removed: [] }],
    },
  })
}

/** With the plain token of old. */
export const gitlabPush = (secret: string, given: PushFields = {}): Hook => ({
  headers: {
    ...{ "content-type": "application/json", "x-gitlab-event": "Push Hook" },
    ...{ "idempotency-key": randomUUID(), "x-gitlab-token": secret },
  },
  body: gitlabBody(given),
})

/** With a signature as Standard Webhooks has it. */
export const gitlabSignedPush = (secret: string, nowMs: number, given: PushFields = {}): Hook => {
  const body = gitlabBody(given)
  const [id, timestamp] = [randomUUID(), String(Math.floor(nowMs / 1000))]
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64")
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")
  return {
    headers: {
      ...{ "content-type": "application/json", "x-gitlab-event": "Push Hook", "idempotency-key": id },
      ...{ "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` },
    },
    body,
  }
}

export const bitbucketPush = (secret: string, given: PushFields = {}): Hook => {
  const { repository, ref, before, after } = filled(given)
  const side = (hash: string) =>
    hash === ZEROS
      ? null
      : {
          ...{ type: ref.startsWith("refs/tags/") ? "tag" : "branch", name: ref.replace(/^refs\/\w+\//, "") },
          target: { hash, message: "Sell more\n" },
        }
  const body = JSON.stringify({
    ...{ actor: { nickname: "octocat" }, repository: { full_name: repository } },
    push: { changes: [{ old: side(before), new: side(after) }] },
  })
  const headers = {
    ...{ "content-type": "application/json", "x-event-key": "repo:push", "x-request-uuid": randomUUID() },
    "x-hub-signature": `sha256=${hex(secret, body)}`,
  }
  return { headers, body }
}

/**
 * GitHub's webhooks (docs.github.com/webhooks/webhook-events-and-payloads), and Gitea's, which has the same payloads:
 * the headers differ.
 */
import type { Delivery, GitEvent, Hooks } from "../../port.ts"
import {
  commitAt,
  eventOf,
  firstLine,
  type Json,
  listAt,
  numberAt,
  objectAt,
  pathsOf,
  pullRequestEvent,
  readJson,
  textAt,
  typeOfRef,
} from "../../reading.ts"
import { isHexHmac } from "../../signatures.ts"

/** GitHub tells this many commits of a push. */
const COMMITS_MAX = 2_048

const repositoryOf = (body: Json): string => textAt(objectAt(body, "repository"), "full_name") ?? ""

const pushOf = (body: Json): GitEvent => {
  const ref = textAt(body, "ref")
  const head = objectAt(body, "head_commit")
  const commits = listAt(body, "commits")
  // Gitea tells at most some of the commits, and how many there are.
  const total = numberAt(body, "total_commits") ?? commits.length
  const commitBefore = commitAt(body, "before")
  const isWhole = commitBefore !== null && body.forced !== true && commits.length < COMMITS_MAX
  const last = objectAt({ last: commits.at(-1) }, "last")
  return eventOf({
    type: typeOfRef(ref),
    repository: repositoryOf(body),
    ref,
    commit: commitAt(body, "after"),
    commitBefore,
    message: firstLine(textAt(head, "message") ?? textAt(last, "message")),
    author: textAt(objectAt(body, "sender"), "login"),
    paths: pathsOf(commits, isWhole && commits.length > 0 && total === commits.length),
  })
}

const pullRequestOf = (body: Json): GitEvent => {
  const request = objectAt(body, "pull_request")
  const head = objectAt(request, "head")
  return pullRequestEvent({
    repository: repositoryOf(body),
    number: numberAt(body, "number") ?? numberAt(request, "number"),
    action: textAt(body, "action") ?? "",
    source: textAt(head, "ref"),
    target: textAt(objectAt(request, "base"), "ref"),
    commit: commitAt(head, "sha"),
    title: textAt(request, "title"),
    author: textAt(objectAt(request, "user"), "login"),
  })
}

const eventFrom = (name: string, body: Json): GitEvent => {
  // A first push is told as `push` too, so `create` adds nothing.
  if (name === "push") return pushOf(body)
  if (name === "pull_request" || name === "pull_request_sync") return pullRequestOf(body)
  return eventOf({ type: name === "ping" ? "ping" : "other", repository: repositoryOf(body) })
}

interface HeaderNames {
  readonly signature: string
  readonly signaturePrefix: string
  readonly event: string
  readonly delivery: string
}

export const githubLikeHooks = (names: HeaderNames): Hooks => ({
  signatureHeaders: [names.signature],
  isGenuine: ({ header, body }, secret) =>
    isHexHmac(body, secret, header(names.signature), names.signaturePrefix),
  idOf: ({ header }) => header(names.delivery),
  read(delivery: Delivery) {
    const providerEvent = delivery.header(names.event) ?? ""
    return { providerEvent, events: [eventFrom(providerEvent, readJson(delivery))] }
  },
})

export const githubHooks: Hooks = githubLikeHooks({
  ...{ signature: "x-hub-signature-256", signaturePrefix: "sha256=" },
  ...{ event: "x-github-event", delivery: "x-github-delivery" },
})

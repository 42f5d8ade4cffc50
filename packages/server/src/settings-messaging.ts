/** Settings of mail, source control, deliveries and support. */
import { isIP } from "node:net"
import {
  fraction,
  hostName,
  integer,
  mailAddress,
  natsUrl,
  optional,
  port,
  smtpServer,
  spfTerms,
  urlOr,
  uuid,
  word,
} from "./config-parsers.ts"
import type { Setting } from "./setting.ts"

export const messagingSettings = {
  natsUrl: {
    variable: "SVC_NATS_URL",
    otherwise: "none: PostgreSQL's own NOTIFY",
    meaning:
      "NATS servers with JetStream that carry news between processes, with commas between: `nats://user:password@host:4222`.",
    secret: true,
    parse: natsUrl,
  },
  natsCredentialsFile: {
    variable: "SVC_NATS_CREDENTIALS_FILE",
    otherwise: "none",
    meaning: "Credentials file for those servers.",
    parse: optional,
  },
  natsReplicas: {
    variable: "SVC_NATS_REPLICAS",
    otherwise: "1",
    meaning: "How many of those servers keep a copy of the news.",
    parse: integer(1, 5, 1),
  },
  smtpServer: {
    variable: "SVC_SMTP_URL",
    otherwise: "none: mails stay in the mailbox of this installation",
    meaning:
      "Mail server that carries mails on: `smtp://user:password@host:587`, or `smtps:` for TLS from the start.",
    secret: true,
    parse: smtpServer,
  },
  mailFrom: {
    variable: "SVC_MAIL_FROM",
    otherwise: "no-reply@ and the host of SVC_BASE_URL",
    meaning: "Sender of mails for which nobody names another.",
    parse: mailAddress,
  },
  mailDirect: {
    variable: "SVC_MAIL_DIRECT",
    otherwise: "off",
    meaning: "`on` lets mails go straight to the servers of recipients, for which port 25 must be open.",
    parse: word("off", "on"),
  },
  githubUrl: {
    variable: "SVC_GITHUB_URL",
    otherwise: "https://api.github.com",
    meaning:
      "GitHub's API, unless a project's credentials name another: `https://github.example.com/api/v3`.",
    parse: urlOr("https://api.github.com"),
  },
  gitlabUrl: {
    variable: "SVC_GITLAB_URL",
    otherwise: "https://gitlab.com/api/v4",
    meaning: "The same for GitLab.",
    parse: urlOr("https://gitlab.com/api/v4"),
  },
  bitbucketUrl: {
    variable: "SVC_BITBUCKET_URL",
    otherwise: "https://api.bitbucket.org/2.0",
    meaning: "The same for Bitbucket Cloud.",
    parse: urlOr("https://api.bitbucket.org/2.0"),
  },
  giteaUrl: {
    variable: "SVC_GITEA_URL",
    otherwise: "https://gitea.com/api/v1",
    meaning: "The same for Gitea or Forgejo.",
    parse: urlOr("https://gitea.com/api/v1"),
  },
  retryDelayFactor: {
    variable: "SVC_RETRY_DELAY_FACTOR",
    otherwise: "1",
    meaning:
      "What all delays between attempts of a delivery are taken times: 0.001 makes seconds of hours, for tests.",
    parse: fraction,
  },
  mailHost: {
    variable: "SVC_MAIL_HOST",
    otherwise: "the host of SVC_BASE_URL",
    meaning: "Name of this installation for mail servers: MX records of sending domains point at it.",
    parse: hostName,
  },
  mailSpf: {
    variable: "SVC_MAIL_SPF",
    otherwise: "a:<SVC_MAIL_HOST>",
    meaning:
      "Terms by which SPF records of sending domains allow what sends for us: `include:spf.example.com`.",
    parse: spfTerms,
  },
  trackingHost: {
    variable: "SVC_TRACKING_HOST",
    otherwise: "the host of SVC_BASE_URL",
    meaning: "Name that tracking names of sending domains are aliases of.",
    parse: hostName,
  },
  smtpPort: {
    variable: "SVC_SMTP_PORT",
    otherwise: "none: bounces and complaints by mail are not taken",
    meaning: "Port on which mail servers deliver bounces and complaints; the world finds it on port 25.",
    parse: port,
  },
  smtpHost: {
    variable: "SVC_SMTP_HOST",
    otherwise: "SVC_HOST",
    meaning: "Address that this port listens on; 0.0.0.0 for all of this machine's.",
    parse: (text: string | undefined) => {
      if (text !== undefined && isIP(text) === 0) throw new RangeError("must be an IP address")
      return text
    },
  },
  supportOrganization: {
    variable: "SVC_SUPPORT_ORGANIZATION",
    otherwise: "the first organization",
    meaning:
      "Id of the organization whose owners and administrators answer the support tickets of all others.",
    parse: uuid,
  },
  supportEmail: {
    variable: "SVC_SUPPORT_EMAIL",
    otherwise: "none",
    meaning: "Address that is told of new support tickets and of what customers add to them.",
    parse: mailAddress,
  },
} as const satisfies Record<string, Setting<unknown>>

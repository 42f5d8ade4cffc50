/** Where a cluster's API is and by what it lets us in: a kubeconfig, or the service account of the Pod this runs in. */
import { readFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { dirname, resolve } from "node:path"
import { parse } from "yaml"
import { PortError } from "../port-error.ts"
import type { ApiOptions } from "./api.ts"

/** The file that kubectl has in ~/.kube/config, as far as it is read here. */
interface Kubeconfig {
  readonly "current-context"?: string
  readonly contexts?: readonly Named<{ cluster?: string; user?: string; namespace?: string }, "context">[]
  readonly clusters?: readonly Named<
    {
      server?: string
      "certificate-authority"?: string
      "certificate-authority-data"?: string
      "insecure-skip-tls-verify"?: boolean
    },
    "cluster"
  >[]
  readonly users?: readonly Named<
    {
      token?: string
      tokenFile?: string
      "client-certificate"?: string
      "client-certificate-data"?: string
      "client-key"?: string
      "client-key-data"?: string
      exec?: object
      "auth-provider"?: object
    },
    "user"
  >[]
}

type Named<Value, Key extends string> = { readonly name: string } & { readonly [K in Key]?: Value }

const ACCOUNT_AT = "/var/run/secrets/kubernetes.io/serviceaccount"
const NAMESPACE = "default"

const decoded = (text: string | undefined) =>
  text === undefined ? undefined : Buffer.from(text, "base64").toString("utf8")

const refuse = (path: string, reason: string): never => {
  throw new PortError("refused", `the kubeconfig ${path} ${reason}`)
}

/** Throws `refused`, with what it lacks or says that is not done here. Files that it names lie beside it. */
export const parseKubeconfig = (path: string, text: string): ApiOptions => {
  const beside = (name: string | undefined) => name && resolve(dirname(path), name)
  const contentOf = (data: string | undefined, name: string | undefined): string | undefined => {
    if (data !== undefined || name === undefined) return decoded(data)
    try {
      return readFileSync(resolve(dirname(path), name), "utf8")
    } catch (error) {
      return refuse(path, `names a file that cannot be read: ${(error as Error).message}`)
    }
  }
  let config: Kubeconfig
  try {
    config = parse(text) ?? {}
  } catch (error) {
    return refuse(path, `is no YAML: ${(error as Error).message}`)
  }
  const context = config.contexts?.find(({ name }) => name === config["current-context"])?.context
  const cluster = config.clusters?.find(({ name }) => name === context?.cluster)?.cluster
  const user = config.users?.find(({ name }) => name === context?.user)?.user ?? {}
  if (!context || !cluster?.server) return refuse(path, "has no current context with a server")
  if (cluster["insecure-skip-tls-verify"])
    return refuse(path, "does not say whom to trust (certificate-authority)")
  const hasToken = user.token !== undefined || user.tokenFile !== undefined
  const cert = contentOf(user["client-certificate-data"], user["client-certificate"])
  if (!hasToken && cert === undefined)
    return refuse(path, "has neither a token nor a certificate: programs that fetch one are not run")
  return {
    ...{ apiUrl: cluster.server, namespace: context.namespace ?? NAMESPACE },
    ...{ token: user.token, tokenFile: beside(user.tokenFile), cert },
    key: contentOf(user["client-key-data"], user["client-key"]),
    ...{
      ca: decoded(cluster["certificate-authority-data"]),
      caFile: beside(cluster["certificate-authority"]),
    },
  }
}

const ofThisPod = async (accountAt: string): Promise<ApiOptions> => {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env
  const namespace = await readFile(`${accountAt}/namespace`, "utf8").catch(() => undefined)
  if (host === undefined || port === undefined || namespace === undefined)
    throw new PortError(
      "refused",
      "this is no Pod of a cluster, and SVC_KUBERNETES_CONFIG names no kubeconfig",
    )
  return {
    ...{ apiUrl: `https://${host.includes(":") ? `[${host}]` : host}:${port}`, namespace: namespace.trim() },
    ...{ tokenFile: `${accountAt}/token`, caFile: `${accountAt}/ca.crt` },
  }
}

/** Rejects with `refused` where there is none. */
export const findPlace = async (
  { config, namespace }: { readonly config?: string | undefined; readonly namespace?: string | undefined },
  accountAt = ACCOUNT_AT,
): Promise<ApiOptions> => {
  if (config === undefined) {
    const place = await ofThisPod(accountAt)
    return { ...place, namespace: namespace ?? place.namespace }
  }
  const text = await readFile(config, "utf8").catch((error: Error) =>
    refuse(config, `cannot be read: ${error.message}`),
  )
  const place = parseKubeconfig(config, text)
  return { ...place, namespace: namespace ?? place.namespace }
}

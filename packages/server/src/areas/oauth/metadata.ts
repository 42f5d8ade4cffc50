/** The documents by which clients find their way (RFC 8414, RFC 9728). */
import { type areas, OAUTH_CLIENT_METHODS, OAUTH_GRANTS, OAUTH_SCOPES, type Output } from "@svc/contract"

type Specs = typeof areas.oauth.specs

export const serverMetadata = (baseUrl: string): Output<Specs["metadata"]> => {
  const at = (path: string) => `${baseUrl}${path}`
  const methods = [...OAUTH_CLIENT_METHODS]
  return {
    issuer: baseUrl,
    authorization_endpoint: at("/v1/oauth/authorize"),
    token_endpoint: at("/v1/oauth/token"),
    registration_endpoint: at("/v1/oauth/register"),
    revocation_endpoint: at("/v1/oauth/revoke"),
    introspection_endpoint: at("/v1/oauth/introspect"),
    device_authorization_endpoint: at("/v1/oauth/device_authorization"),
    scopes_supported: [...OAUTH_SCOPES],
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: [...OAUTH_GRANTS],
    token_endpoint_auth_methods_supported: methods,
    revocation_endpoint_auth_methods_supported: methods,
    introspection_endpoint_auth_methods_supported: methods,
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
    service_documentation: at("/docs"),
  }
}

/** The API as a whole, or one address of it that clients know as a resource of its own. */
export const resourceMetadata = (baseUrl: string, path = ""): Output<Specs["resource"]> => ({
  resource: `${baseUrl}${path}`,
  authorization_servers: [baseUrl],
  scopes_supported: [...OAUTH_SCOPES],
  bearer_methods_supported: ["header"],
  resource_name: "Svc",
  resource_documentation: `${baseUrl}/docs`,
})

/** Whether a client that names a resource means this API (RFC 8707). */
export const isOwnResource = (resource: string, baseUrl: string): boolean =>
  resource === baseUrl || resource.startsWith(`${baseUrl}/`)

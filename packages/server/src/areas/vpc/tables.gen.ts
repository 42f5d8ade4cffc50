// Made by `npm run gen` from the migrated database.
export {}

declare module "../../kernel/db/tables.gen.ts" {
  interface Tables {
    "vpc.networks": {
      id: string
      organization_id: string
      project_id: string
      host_id: string
      name: string
      description: string
      cidr: string
      dns_servers: string[]
      mtu: number
      region: string
      listen_port: number
      public_key: string
      private_key: string
      created_at: Date
      updated_at: Date
    }
    "vpc.peers": {
      id: string
      organization_id: string
      network_id: string
      name: string
      public_key: string
      address: string
      allowed_ips: string[]
      endpoint: string | null
      persistent_keepalive_seconds: number
      dns_servers: string[]
      enabled: boolean
      expires_at: Date | null
      private_key: string | null
      config_token_hash: Buffer | null
      config_token_until: Date | null
      created_at: Date
    }
  }
}

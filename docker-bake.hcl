# The image for several architectures, into a registry of your own, with its provenance and the list of its packages:
#   EVOLVE_IMAGE=registry.example/evolve:0.1.0 REVISION=$(git rev-parse HEAD) docker buildx bake --file docker-bake.hcl --push
# The builder of Docker itself makes one architecture: docker buildx create --use --driver docker-container

variable "EVOLVE_IMAGE" {
  default = "evolve:0.1.0"
}

variable "REVISION" {
  default = ""
}

group "default" {
  targets = ["evolve"]
}

target "evolve" {
  context   = "."
  tags      = [EVOLVE_IMAGE]
  args      = { REVISION = REVISION }
  platforms = ["linux/amd64", "linux/arm64"]
  attest    = ["type=provenance,mode=max", "type=sbom"]
}

#!/bin/sh
# Prints the Secrets typha-certs and node-certs and the ConfigMap typha-ca, with a new CA, for kubectl apply -f -.
# Usage: make-secrets.sh [NAMESPACE [DAYS]]. Needs openssl. The CA's key is thrown away: run it again for new ones, and
# apply all three together.
set -eu
namespace=${1:-kube-system}
days=${2:-365}
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"

key() {
  openssl ecparam -name prime256v1 -genkey -noout 2>/dev/null | openssl pkcs8 -topk8 -nocrypt -out "$1.key"
}

# issue NAME COMMON-NAME USAGES
issue() {
  key "$1"
  openssl req -new -key "$1.key" -subj "/CN=$2" -out "$1.csr"
  printf 'keyUsage=critical,digitalSignature\nextendedKeyUsage=%s\nsubjectAltName=DNS:%s\n' "$3" "$2" >"$1.ext"
  openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days "$days" -extfile "$1.ext" \
    -out "$1.crt" 2>/dev/null
}

# secret NAME FILE
secret() {
  cat <<EOF
---
apiVersion: v1
kind: Secret
metadata:
  name: $1
  namespace: $namespace
type: kubernetes.io/tls
data:
  tls.crt: $(base64 <"$2.crt" | tr -d '\n')
  tls.key: $(base64 <"$2.key" | tr -d '\n')
EOF
}

key ca
printf '[req]\ndistinguished_name=name\nx509_extensions=ca\n[name]\n[ca]\nbasicConstraints=critical,CA:true\nkeyUsage=critical,keyCertSign,cRLSign\nsubjectKeyIdentifier=hash\n' >ca.cnf
openssl req -new -x509 -key ca.key -subj "/CN=bulrush-ca" -days "$days" -config ca.cnf -out ca.crt
# Typhas ask one another with theirs, so that it is good for both sides.
issue typha typha-server serverAuth,clientAuth
issue node typha-client clientAuth
secret typha-certs typha
secret node-certs node
cat <<EOF
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: typha-ca
  namespace: $namespace
data:
  caBundle: |
$(sed 's/^/    /' ca.crt)
EOF

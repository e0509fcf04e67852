//! [`encrypt`]: encrypts a message for one browser (RFC 8291, content coding `aes128gcm` of RFC 8188).
use ring::{
    aead::{AES_128_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral},
    error::Unspecified,
    hkdf::{HKDF_SHA256, KeyType, Prk, Salt},
    rand::{SecureRandom, SystemRandom},
};

/// Maximum bytes of an encrypted message that every push service accepts (RFC 8030, section 7.2).
const MAX_BYTES: usize = 4096;
/// Bytes of an uncompressed point of P-256.
pub(super) const POINT_BYTES: usize = 65;
/// Bytes of a salt.
const SALT_BYTES: usize = 16;
/// Bytes before the encrypted record: the salt, the record's size, and the server's public key with its length.
const HEADER_BYTES: usize = SALT_BYTES + 4 + 1 + POINT_BYTES;
/// Maximum bytes of content: a message without the header, the delimiter of the record, and the tag of AES-GCM.
pub(super) const MAX_CONTENT_BYTES: usize = MAX_BYTES - HEADER_BYTES - 1 - 16;
/// Delimiter of the last record (RFC 8188, section 2).
const LAST_RECORD: u8 = 2;

/// The keys of a subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DeviceKeys {
    /// Public key of the browser, an uncompressed point.
    pub(super) public: Vec<u8>,
    /// Authentication secret, which only the browser and this server know.
    pub(super) secret: Vec<u8>,
}

/// Encrypts `content`, at most [`MAX_CONTENT_BYTES`]. Fails if the browser's key is not a point of P-256.
pub(super) fn encrypt(content: &[u8], device: &DeviceKeys) -> Result<Vec<u8>, Unspecified> {
    let random = SystemRandom::new();
    let mut salt = [0; SALT_BYTES];
    random.fill(&mut salt)?;
    let own = EphemeralPrivateKey::generate(&ECDH_P256, &random)?;
    let own_public = own.compute_public_key()?;
    let peer = UnparsedPublicKey::new(&ECDH_P256, &device.public);
    agree_ephemeral(own, &peer, |shared| sealed(content, device, own_public.as_ref(), shared, salt))?
}

/// Encrypts the message with the given random values. `shared` is the shared secret of both key pairs.
fn sealed(
    content: &[u8],
    device: &DeviceKeys,
    own_public: &[u8],
    shared: &[u8],
    salt: [u8; SALT_BYTES],
) -> Result<Vec<u8>, Unspecified> {
    let mixed = Salt::new(HKDF_SHA256, &device.secret).extract(shared);
    let mut input = [0; 32];
    expand(&mixed, &[b"WebPush: info\0", &device.public, own_public], &mut input)?;
    let keys = Salt::new(HKDF_SHA256, &salt).extract(&input);
    let (mut key, mut nonce) = ([0; 16], [0; NONCE_LEN]);
    expand(&keys, &[b"Content-Encoding: aes128gcm\0"], &mut key)?;
    expand(&keys, &[b"Content-Encoding: nonce\0"], &mut nonce)?;
    let mut record = [content, &[LAST_RECORD]].concat();
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key)?);
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut record)?;
    let size = u32::try_from(MAX_BYTES).map_err(|_| Unspecified)?.to_be_bytes();
    let length = u8::try_from(own_public.len()).map_err(|_| Unspecified)?;
    Ok([salt.as_slice(), &size, &[length], own_public, &record].concat())
}

fn expand(from: &Prk, context: &[&[u8]], to: &mut [u8]) -> Result<(), Unspecified> {
    struct Length(usize);
    impl KeyType for Length {
        fn len(&self) -> usize {
            self.0
        }
    }
    from.expand(context, Length(to.len()))?.fill(to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

    fn bytes(text: &str) -> Vec<u8> {
        URL_SAFE_NO_PAD.decode(text).unwrap()
    }

    fn device() -> DeviceKeys {
        DeviceKeys {
            public: bytes(
                "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
            ),
            secret: bytes("BTBZMqHH6r4Tts7J_aSIgg"),
        }
    }

    /// Example of RFC 8291, appendix A.
    // H-97
    #[test]
    fn a_message_is_that_of_the_rfc() {
        let own_public =
            bytes("BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8");
        let shared = bytes("kyrL1jIIOHEzg3sM2ZWRHDRB62YACZhhSlknJ672kSs");
        let salt = bytes("DGv6ra1nlYgDCS1FRnbzlw").try_into().unwrap();
        let content = b"When I grow up, I want to be a watermelon";
        assert_eq!(
            URL_SAFE_NO_PAD.encode(sealed(content, &device(), &own_public, &shared, salt).unwrap()),
            "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8w\
             EqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
        );
    }

    #[test]
    fn the_longest_content_makes_the_longest_message() {
        let message = encrypt(&[b'x'; MAX_CONTENT_BYTES], &device()).unwrap();
        assert_eq!(message.len(), MAX_BYTES);
        let other = DeviceKeys { public: vec![4; POINT_BYTES], ..device() };
        assert!(encrypt(b"x", &other).is_err(), "not a point");
    }
}

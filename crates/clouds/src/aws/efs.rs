//! File systems: a REST API with JSON.

use super::{
    Aws,
    call::{Call, incomplete},
    rows::EFS,
    sigv4,
};
use crate::{Page, PageToken, Refusal, http::Access};
use allotment_core::cleanup::{Item, ItemId, KindName, Place, attribute};
use http::Method;
use serde_json::Value;

pub(super) const MOUNT_TARGET: &str = "MountTarget";
pub(super) const FILE_SYSTEM: &str = "FileSystem";

const ROOT: &str = "/2015-02-01";

impl Aws {
    pub(super) async fn file_systems(
        &self,
        place: &Place,
        page: Option<&PageToken>,
    ) -> Result<Page, Refusal> {
        let query = page.map(|token| ("Marker".to_owned(), token.0.clone())).into_iter().collect();
        let answer = self.efs(place, "file-systems", query, "DescribeFileSystems").await?;
        let items = read(&answer, "FileSystems", FILE_SYSTEM, "FileSystemId", place)?;
        Ok(Page::Items { items, next: next(&answer, "NextMarker") })
    }

    /// Mount targets are listed by file system: a page is one page of file systems.
    pub(super) async fn mount_targets(
        &self,
        place: &Place,
        page: Option<&PageToken>,
    ) -> Result<Page, Refusal> {
        let Page::Items { items: systems, next: more } = self.file_systems(place, page).await? else {
            return Err(incomplete("DescribeFileSystems"));
        };
        let mut items = Vec::new();
        for system in systems {
            let mut marker: Option<PageToken> = None;
            loop {
                let mut query = vec![("FileSystemId".to_owned(), system.id.as_str().to_owned())];
                query.extend(marker.clone().map(|token| ("Marker".to_owned(), token.0)));
                let answer = match self.efs(place, "mount-targets", query, "DescribeMountTargets").await {
                    // It went between two calls, and its mount targets before it.
                    Err(Refusal::Gone) => break,
                    answer => answer?,
                };
                items.extend(read(&answer, "MountTargets", MOUNT_TARGET, "MountTargetId", place)?);
                let following = next(&answer, "NextMarker");
                if following.is_some() && following == marker {
                    return Err(incomplete("DescribeMountTargets"));
                }
                marker = following;
                if marker.is_none() {
                    break;
                }
            }
        }
        Ok(Page::Items { items, next: more })
    }

    pub(super) async fn delete_efs(&self, item: &Item) -> Result<(), Refusal> {
        let (folder, action) = match item.kind.as_str() {
            MOUNT_TARGET => ("mount-targets", "DeleteMountTarget"),
            _ => ("file-systems", "DeleteFileSystem"),
        };
        let call = Call {
            method: Method::DELETE,
            path: format!("{ROOT}/{folder}/{}", sigv4::encode(item.id.as_str())),
            query: Vec::new(),
            content_type: None,
            body: String::new(),
            permission: format!("elasticfilesystem:{action}"),
        };
        match self.call(&EFS, &item.place, &call, Access::Write).await {
            Ok(_) | Err(Refusal::Gone) => Ok(()),
            Err(refusal) => Err(refusal),
        }
    }

    async fn efs(
        &self,
        place: &Place,
        folder: &str,
        query: Vec<(String, String)>,
        action: &str,
    ) -> Result<Value, Refusal> {
        let call = Call {
            method: Method::GET,
            path: format!("{ROOT}/{folder}"),
            query,
            content_type: None,
            body: String::new(),
            permission: format!("elasticfilesystem:{action}"),
        };
        let body = self.call(&EFS, place, &call, Access::Read).await?;
        serde_json::from_slice(&body).map_err(|_| incomplete(action))
    }
}

fn next(answer: &Value, field: &str) -> Option<PageToken> {
    answer[field].as_str().filter(|token| !token.is_empty()).map(|token| PageToken(token.to_owned()))
}

fn read(
    answer: &Value,
    list: &str,
    kind: &'static str,
    id: &str,
    place: &Place,
) -> Result<Vec<Item>, Refusal> {
    let listed = answer[list].as_array().ok_or_else(|| incomplete(list))?;
    let read = |value: &Value| {
        let found = value[id].as_str().ok_or_else(|| incomplete(list))?;
        let text = |field: &str| value[field].as_str().unwrap_or_default();
        let mut item = Item::new(KindName::of(kind), place.clone(), ItemId::new(found))
            .with(attribute::STATE, text("LifeCycleState"))
            .with(attribute::OWNER, text("OwnerId"))
            .with(attribute::NETWORK, text("VpcId"));
        item.name = value["Name"].as_str().map(str::to_owned);
        Ok(item)
    };
    listed.iter().map(read).collect()
}
